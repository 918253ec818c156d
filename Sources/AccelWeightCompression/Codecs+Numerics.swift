extension Codecs {
    /// The `WeightCodec.numericsVersion` of every codec, by name.
    public static let numericsVersions = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.numericsVersion) })

    /// Returns the numerics versions of the given codecs and their inner codecs, by name.
    public static func numericsVersions(of codecs: [any WeightCodec]) -> [String: Int] {
        let names = Set(codecs.flatMap { $0.values.layers.map(\.codec) })
        return numericsVersions.filter { names.contains($0.key) }
    }
}

extension Recipe {
    /// The numerics versions of all codecs that the recipe may use: those that it names, and the fallbacks `stored` and
    /// `float16`.
    public var numericsVersions: [String: Int] {
        let named = Codecs.numericsVersions(of: [defaultCodec] + rules.map(\.codec) + encoded.values)
        let standIns = Codecs.numericsVersions.filter { [StoredCodec.name, Float16Codec.name].contains($0.key) }
        return named.merging(standIns) { named, _ in named }
    }
}
