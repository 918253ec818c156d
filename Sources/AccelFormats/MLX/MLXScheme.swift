import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// A scheme of MLX's affine mode: `scale * code + bias`, with a scale and a bias for each group of a row.
struct MLXScheme: Hashable, Sendable {
    /// The numbers of bits that `mx.quantize` supports.
    static let allBits = [2, 3, 4, 5, 6, 8]
    /// The numbers of weights that may share a scale and a bias.
    static let groups = [32, 64, 128]

    let bits: Int
    let group: Int

    init(bits: Int, group: Int) { (self.bits, self.group) = (bits, group) }

    /// Parses a member of the `quantization` block, or the block itself.
    /// - Throws: `FormatError` for missing or unknown numbers; `RequestError` for another mode.
    init(parsing field: JSONField) throws {
        let mode = try field["mode"].exists ? field["mode"].string() : "affine"
        guard mode == "affine" else {
            throw RequestError(
                "\(field["mode"].error("the mode \(quoted(mode)) is not supported")); convert the model's original, "
                    + "or quantize it with mode affine", status: .unavailable)
        }
        bits = try field["bits"].int()
        guard Self.allBits.contains(bits) else { throw field["bits"].error("expected 2, 3, 4, 5, 6 or 8") }
        group = try field["group_size"].int()
        guard Self.groups.contains(group) else { throw field["group_size"].error("expected 32, 64 or 128") }
    }

    var json: JSON {
        ["group_size": .integer(Int64(group)), "bits": .integer(Int64(bits)), "mode": "affine"]
    }

    /// Returns the specification of the codec with this scheme.
    /// - Parameter scales: the element type of scales and biases.
    func specification(scales: ElementType) -> String? {
        let types: [ElementType: String] = [.float16: "float16", .bfloat16: "bfloat16", .float32: "float32"]
        return types[scales].map { "affine:bits=\(bits),block=\(group),scales=\($0),fit=mlx" }
    }

    /// Returns the shape of the codes of a matrix: 32 bits an element.
    func codeShape(_ shape: Shape) -> Shape { [shape.rows, shape.columns * bits / 32] }
    /// Returns the shape of the scales and of the biases of a matrix.
    func scaleShape(_ shape: Shape) -> Shape { [shape.rows, shape.columns / group] }
}

extension MLXScheme {
    /// How MLX stores a weight.
    enum Storage {
        /// As plain numbers.
        case plain
        case quantized(MLXScheme)
        /// Not at all; with the reason and the nearest scheme.
        case unsupported(String)
    }

    /// Returns how MLX stores a weight with a codec.
    static func storage(of codec: any WeightCodec, elementType: ElementType, shape: Shape) -> Storage {
        if let type = codec.plainType(of: elementType) {
            let isRead = type != .float64 && type != .float8e4m3 && type != .float8e5m2
            return isRead ? .plain : .unsupported("MLX reads no elements of type \(type.rawValue): use float32")
        }
        guard let codes = (codec as? any BlockScaledCodec)?.blockScaledCodes(shape), case .biased = codes.values,
            case .biases = codes.shifts
        else { return .unsupported("MLX cannot express \(codec.name): \(nearest(to: codec, shape))") }
        guard shape.rank == 2 else { return .unsupported("MLX quantizes matrices only: use float16") }
        let block = codec.values.integer("block") ?? shape.columns
        guard groups.contains(block), shape.columns % block == 0 else {
            let reason =
                groups.contains(block)
                ? "its rows of \(shape.columns) weights are not whole groups of \(block)"
                : "MLX has groups of 32, 64 or 128 weights"
            return .unsupported("\(reason): \(nearest(to: codec, shape))")
        }
        return .quantized(MLXScheme(bits: codes.bits, group: block))
    }

    /// Returns advice: the nearest scheme that MLX has.
    private static func nearest(to codec: any WeightCodec, _ shape: Shape) -> String {
        guard shape.rank == 2, let largest = groups.last(where: { shape.columns % $0 == 0 }) else {
            return "use float16"
        }
        let known = ["int8": 8, "float8": 8, "int4": 4, "nf4": 4]
        let wanted = codec.values.integer("bits") ?? known[codec.name] ?? 4
        let bits = allBits.first { $0 >= wanted } ?? 8
        let asked = codec.values.integer("block") ?? 64
        let group = groups.first { $0 >= asked && shape.columns % $0 == 0 } ?? largest
        return "use affine:bits=\(bits),block=\(group),scales=weight,fit=mlx"
    }
}

extension WeightCodec {
    /// The element type of plain numbers; nil for any other encoding.
    func plainType(of elementType: ElementType) -> ElementType? {
        switch name {
        case "stored": elementType
        case "float32": .float32
        case "float16": .float16
        case "bfloat16": .bfloat16
        default: nil
        }
    }
}
