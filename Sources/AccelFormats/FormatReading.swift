/// The functions, families and schemes of a format that accelc reads, for tables of formats. `FormatTable` adds the written ones.
public struct FormatReading: Sendable {
    /// The treatment of weights in a scheme.
    public enum Way: String, Sendable {
        /// A codec of accelc takes their codes and scales as they are.
        case kept
        /// The same numbers, in the element type of the file.
        case exact
        /// Their exact values in float32, which another scheme may round.
        case decoded
        /// Added to the weights of another model.
        case merged
    }

    /// A scheme of weights.
    public struct Scheme: Sendable {
        /// The name as the format's own tools write it, or of a codec.
        public let name: String
        /// The treatment of its weights.
        public let way: Way

        /// Creates a scheme.
        public init(_ name: String, _ way: Way) { (self.name, self.way) = (name, way) }
    }

    /// Whether functions are read; otherwise only weights, for `inspect`, `decompress`, `diff` and `verify`.
    public let hasFunctions: Bool
    /// The families, by `ModelFamily.name`, whose models are read; nil for all.
    public let families: [String]?
    /// The schemes of weights.
    public let schemes: [Scheme]
    /// Schemes that are rejected by name, with the reason, sorted.
    public let rejected: [(name: String, reason: String)]

    /// Creates a description.
    public init(
        hasFunctions: Bool = true, families: [String]? = nil, schemes: [Scheme],
        rejected: [(name: String, reason: String)] = []
    ) {
        (self.hasFunctions, self.families) = (hasFunctions, families)
        (self.schemes, self.rejected) = (schemes, rejected)
    }

    /// Plain numbers of safetensors files.
    static let plain = ["float32", "float16", "bfloat16"].map { Scheme($0, .exact) }
}
