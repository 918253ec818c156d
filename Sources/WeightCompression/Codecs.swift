import ByteIO

/// The registry of codecs. A new codec is a file in `Codecs/` and a line here.
public enum Codecs {
    public static let all: [any WeightCodec.Type] = [
        StoredCodec.self,
        Float32Codec.self,
        Float16Codec.self,
        BFloat16Codec.self,
        Int8Codec.self,
        Int4Codec.self,
        AffineCodec.self,
        NF4Codec.self,
        PaletteCodec.self,
    ]

    /// Reads a specification such as `palette:bits=4,group=16`.
    /// - Throws: `RequestError` for an unknown codec, option, or value, with those it takes.
    public static func codec(_ specification: String) throws -> any WeightCodec {
        let parts = specification.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        guard let type = all.first(where: { $0.name == name }) else {
            let names = all.map { $0.name }
            let hint = nearestName(to: name, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
            throw RequestError(
                "there is no compression \"\(name)\" (there is \(names.joined(separator: ", ")))\(hint)")
        }
        var given: [String: String] = [:]
        for option in parts.count == 2 ? parts[1].split(separator: ",", omittingEmptySubsequences: false) : [] {
            let sides = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard sides.count == 2, !sides[0].isEmpty else {
                throw RequestError("\(specification): \"\(option)\" is not of the form option=value")
            }
            guard given.updateValue(sides[1], forKey: sides[0]) == nil else {
                throw RequestError("\(specification): \(sides[0]) is given twice")
            }
        }
        return try type.init(CodecOptionValues(type, given))
    }
}
