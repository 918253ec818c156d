extension Codecs {
    /// `WeightCodec.numericsVersion` of every codec, by name.
    public static let numericsVersions = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.numericsVersion) })

    /// The same of those that store a weight by one of `codecs`, those within others too.
    public static func numericsVersions(of codecs: [any WeightCodec]) -> [String: Int] {
        let names = Set(codecs.flatMap { $0.values.layers.map(\.codec) })
        return numericsVersions.filter { names.contains($0.key) }
    }
}

extension Recipe {
    /// The numerics versions of the codecs that may store a weight: those of the recipe, and those that stand in for them.
    public var numericsVersions: [String: Int] {
        let named = Codecs.numericsVersions(of: [defaultCodec] + rules.map(\.codec))
        let standIns = Codecs.numericsVersions.filter { [StoredCodec.name, Float16Codec.name].contains($0.key) }
        return named.merging(standIns) { named, _ in named }
    }
}
