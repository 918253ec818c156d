package import AccelByteIO

extension Diagnostic.Code {
    /// A specification names no scheme. The candidate is the most similar scheme.
    package static let unknownScheme: Self = "unknown-scheme"
}

/// Errors about specifications of schemes.
enum SchemeNames {
    /// Returns the error about a specification without a known scheme.
    static func unknown(_ name: String) -> RequestError {
        if let mix = GGMLMix.all.first(where: { $0.name == name }) {
            return RequestError("\"\(name)\" is no scheme but a mix for all weights of a model, mostly \"\(mix.base)\"")
        }
        let nearest = nearestName(to: name, among: Codecs.all.map { $0.name } + GGMLMix.all.map(\.name))
        return RequestError(
            "unknown scheme \"\(name)\"\(suggestion(nearest))", code: .unknownScheme,
            candidates: [nearest].compactMap(\.self))
    }

    /// Returns the form in which a scheme takes its options, as the end of an error.
    static func form(of type: CodecScheme) -> String {
        let options = type.options.filter { !$0.isFilledIn }.map {
            "\($0.name)=\($0.accepted.joined(separator: "|"))"
        }
        return options.isEmpty
            ? "; \(type.name) takes no options" : "; it takes \(type.name):\(options.joined(separator: ","))"
    }
}
