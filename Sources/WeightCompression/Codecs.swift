/// The registry of codecs. A new codec is a file in `Codecs/` and a line here.
public enum Codecs {
    public static let all: [any WeightCodec.Type] = [
    ]

    /// Reads a specification such as `palette:bits=4,group=16`.
    /// - Throws: `RequestError` for an unknown codec, option, or value, with the allowed ones.
    public static func codec(_ specification: String) throws -> any WeightCodec { fatalError("helper") }
}
