import AccelByteIO

/// The registry of codecs. A new codec is one file in `Codecs/` and one line here.
public enum Codecs {
    /// Every scheme, in the order of help texts.
    public static let all: [CodecScheme] = types.flatMap { $0.schemes }

    private static let types: [any WeightCodec.Type] = [
        StoredCodec.self,
        Float32Codec.self,
        Float16Codec.self,
        BFloat16Codec.self,
        Float8Codec.self,
        Int8Codec.self,
        Int4Codec.self,
        AffineCodec.self,
        NF4Codec.self,
        FP4Codec.self,
        MXFP4Codec.self,
        NVFP4Codec.self,
        MXFP8Codec.self,
        PaletteCodec.self,
        HQQCodec.self,
        VectorCodec.self,
        SparseCodec.self,
        OutlierCodec.self,
        FlatCodec.self,
        PermutedCodec.self,
        GGMLCodec.self,
    ]

    /// The largest number of nested codecs.
    private static let greatestDepth = 3

    /// Another name of `stored`: weights stay as the model's files have them, and what is quantized stays quantized.
    public static let keep = "keep"

    /// Reads a specification such as `palette:bits=4,group=16`, or of nested codecs, such as `sparse:target=0.5+int8`. Blanks around
    /// its signs do not count.
    /// - Throws: `RequestError` for an unknown codec, option or value, with the accepted ones.
    public static func codec(_ specification: String) throws -> any WeightCodec {
        let specification = withoutBlanks(specification, around: ":,=+")
        if specification == keep { return StoredCodec() }
        let layers = specification.split(separator: "+", omittingEmptySubsequences: false).map(String.init)
        guard layers.count <= greatestDepth else {
            throw RequestError("\(specification): at most \(greatestDepth) schemes can be nested")
        }
        var inner: CodecOptionValues?
        for (index, layer) in layers.enumerated().reversed() {
            inner = try values(layer, around: inner)
            guard index == layers.count - 1 || scheme(named: layer)?.takesInner ?? false else {
                let around = all.filter { $0.takesInner }.map { $0.name }.joined(separator: ", ")
                throw RequestError("\(specification): \(layer) takes no inner scheme; \(around) do")
            }
        }
        guard let values = inner else { throw RequestError("the scheme is empty; expected a name such as int8") }
        return try codec(values)
    }

    /// Creates the codec of `values`.
    static func codec(_ values: CodecOptionValues) throws -> any WeightCodec {
        guard let scheme = all.first(where: { $0.name == values.codec }) else {
            throw RequestError("unknown scheme \"\(values.codec)\"")
        }
        return try scheme.type.init(values)
    }

    /// Returns a text without the blanks at its ends and beside any of some signs.
    private static func withoutBlanks(_ text: String, around signs: String) -> String {
        var kept = ""
        var blanks = ""
        for character in text {
            if character == " " {
                blanks.append(character)
                continue
            }
            let isBeside = signs.contains(character) || kept.last.map(signs.contains) ?? true
            kept += isBeside ? "" : blanks
            kept.append(character)
            blanks = ""
        }
        return kept
    }

    private static func scheme(named layer: String) -> CodecScheme? {
        let name = layer.prefix { $0 != ":" }
        return all.first { $0.name == name }
    }

    /// Reads the options of one codec, such as `palette:bits=4,group=16`.
    private static func values(_ specification: String, around inner: CodecOptionValues?) throws -> CodecOptionValues {
        guard let scheme = scheme(named: specification) else {
            let name = String(specification.prefix { $0 != ":" })
            throw SchemeNames.unknown(name)
        }
        let parts = specification.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var given: [String: String] = [:]
        for option in parts.count == 2 ? parts[1].split(separator: ",", omittingEmptySubsequences: false) : [] {
            let sides = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard sides.count == 2, !sides[0].isEmpty else {
                throw RequestError(
                    "\(specification): \"\(option)\" is not of the form option=value\(SchemeNames.form(of: scheme))")
            }
            guard given.updateValue(sides[1], forKey: sides[0]) == nil else {
                throw RequestError("\(specification): \(sides[0]) is given twice")
            }
        }
        return try CodecOptionValues(scheme, given, around: inner)
    }
}
