public import AccelTensors
public import AccelWeightCompression

/// Every codec with every combination of its options.
public enum EveryCodec {
    public static let all: [any WeightCodec] = Codecs.all.flatMap { type -> [any WeightCodec] in
        var texts = [[String]()]
        for option in type.options where !option.isFilledIn {
            // FeedbackTests has what is told of inputs, and codes further off than the nearest.
            let allowed = option.name == "method" ? ["weighted"] : option.allowed
            let values = allowed + samples(option.free)
            texts = texts.flatMap { given in values.map { given + ["\(option.name)=\($0)"] } }
        }
        // Of very many combinations a seventh, by a stride that goes through the values of every option.
        if texts.count > 96 { texts = stride(from: 0, to: texts.count, by: 7).map { texts[$0] } }
        let inner = type.takesInner ? within.map { "+\($0)" } : [""]
        return texts.flatMap { options in
            inner.compactMap { inner in
                func codec(_ options: [String]) -> (any WeightCodec)? {
                    try? Codecs.codec(
                        (options.isEmpty ? type.name : "\(type.name):\(options.joined(separator: ","))") + inner)
                }
                // Some options exclude methods.
                return codec(options) ?? codec(options.filter { !$0.hasPrefix("method=") })
            }
        }
    }

    /// What codecs that take another are tried around.
    private static let within = [
        "float32", "float16", "int8", "int4:scales=float32", "palette:bits=2", "palette:bits=4,group=16",
        "outliers:share=0.05+int8", "sparse:pattern=1:3+int8",
    ]

    private static func samples(_ free: CodecOption.Free?) -> [String] {
        switch free {
        case .integer: ["1", "2", "16"]
        case .count: ["0", "7"]
        case .share: ["0.5", "0.05"]
        case .number: ["0.5"]
        case .pattern: ["2:4"]
        case nil: []
        }
    }

    public static func isLossless(_ codec: any WeightCodec) -> Bool { codec is StoredCodec || codec is Float32Codec }
    public static func quantizes(_ codec: any WeightCodec) -> Bool {
        !(codec is StoredCodec) && !(codec is any FloatCodec)
    }
    /// Stores the weights' own magnitudes as float16, too small for one of the odd tensors.
    public static func overflows(_ codec: any WeightCodec, _ tensor: StoredTensor) -> Bool {
        guard tensor.name == "large for float16" else { return false }
        return codec.values.fullSpecification.split(separator: "+").contains { layer in
            switch layer.prefix(while: { $0 != ":" }) {
            case "float16": true
            case "palette": layer.contains("scale=none") && layer.contains("entries=float16")
            case "vector": layer.contains("entries=float16")
            case "nf4", "fp4", "affine", "hqq": layer.contains("scales=float16")
            // The minimum, or the largest weight, is stored as float16.
            case "q4_1", "q5_1", "tq1_0", "tq2_0": true
            default: layer.contains("values=float16")
            }
        }
    }
    /// Some of its values are stored as float16.
    public static func hasHalves(_ codec: any WeightCodec) -> Bool {
        codec is Float16Codec || codec is GGMLCodec || codec.values.fullSpecification.contains("float16")
    }

    /// The codecs by name, so that a test has a row for each and goes through its options itself.
    public static func options(of name: String) -> [any WeightCodec] { all.filter { $0.name == name } }
}
