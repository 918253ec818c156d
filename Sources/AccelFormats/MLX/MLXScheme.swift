import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// A scheme of MLX: codes of some bits, and one scale for each group of a row, in the mode `affine` with a bias.
struct MLXScheme: Hashable, Sendable {
    /// The meaning of codes and scales.
    enum Mode: String, CaseIterable, Sendable {
        /// `scale * code + bias`, of floating-point numbers.
        case affine
        /// Floating-point numbers of four or eight bits with scales of one byte.
        case mxfp4, mxfp8, nvfp4

        /// The only numbers of bits and of weights in a group; nil if there are several.
        var sizes: (bits: Int, group: Int)? {
            switch self {
            case .affine: nil
            case .mxfp4: (4, 32)
            case .mxfp8: (8, 32)
            case .nvfp4: (4, 16)
            }
        }
    }

    /// The numbers of bits that `mx.quantize` supports in the mode `affine`.
    static let allBits = [2, 3, 4, 5, 6, 8]
    /// The numbers of weights that may share a scale and a bias.
    static let groups = [32, 64, 128]
    static let largestGroup = 128

    let mode: Mode
    let bits: Int
    let group: Int

    init(bits: Int, group: Int) { (mode, self.bits, self.group) = (.affine, bits, group) }

    /// A mode with only one number of bits; nil for `affine`.
    init?(_ mode: Mode) {
        guard let sizes = mode.sizes else { return nil }
        (self.mode, bits, group) = (mode, sizes.bits, sizes.group)
    }

    /// Parses a member of the `quantization` block, or the block itself.
    /// - Throws: `FormatError` for numbers that the mode does not have; `RequestError` for an unknown mode.
    init(parsing field: JSONField) throws {
        let name = try field["mode"].exists ? field["mode"].string() : Mode.affine.rawValue
        guard let mode = Mode(rawValue: name) else {
            throw RequestError(
                "\(field["mode"].error("the mode \(quoted(name)) is not supported")); convert the model's original, "
                    + "or quantize it with one of \(Mode.allCases.map(\.rawValue).joined(separator: ", "))",
                status: .unavailable)
        }
        func number(_ key: String, _ usual: Int, _ known: [Int]) throws -> Int {
            guard field[key].exists else { return usual }
            let number = try field[key].int()
            guard known.contains(number) else {
                throw field[key].error("expected \(known.map(String.init).joined(separator: " or "))")
            }
            return number
        }
        self.mode = mode
        bits = try number("bits", mode.sizes?.bits ?? 4, mode.sizes.map { [$0.bits] } ?? Self.allBits)
        group = try number("group_size", mode.sizes?.group ?? 64, mode.sizes.map { [$0.group] } ?? Self.groups)
    }

    var json: JSON {
        ["group_size": .integer(Int64(group)), "bits": .integer(Int64(bits)), "mode": .string(mode.rawValue)]
    }

    /// The scheme in words, e.g. `of 4 bits in groups of 32`.
    var text: String { mode == .affine ? "of \(bits) bits in groups of \(group)" : mode.rawValue }

    /// Returns the specification of the codec with this scheme.
    /// - Parameter scales: the element type of scales and biases; `uint8` for all modes but `affine`.
    /// - Returns: nil for scales that the mode does not have.
    func specification(scales: ElementType) -> String? {
        let types: [ElementType: String] = [.float16: "float16", .bfloat16: "bfloat16", .float32: "float32"]
        switch mode {
        case .affine: return types[scales].map { "affine:bits=\(bits),block=\(group),scales=\($0),fit=mlx" }
        case .mxfp4, .mxfp8: return scales == .uint8 ? "\(mode.rawValue):fit=mlx" : nil
        case .nvfp4: return scales == .uint8 ? "nvfp4:global=none,fit=mlx" : nil
        }
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
        /// Not at all; the candidate is the nearest scheme.
        case unsupported(UnsupportedScheme)
    }

    /// Returns how MLX stores a weight with a codec.
    /// - Parameters:
    ///   - name: the name of the tensor in MLX.
    ///   - largest: the largest group for a scale that applies to a whole row.
    static func storage(
        of codec: any WeightCodec, elementType: ElementType, shape: Shape, as name: String,
        groupsUpTo largest: Int = largestGroup
    ) -> Storage {
        if let type = codec.plainType(of: elementType) {
            let isRead = type != .float64 && type != .float8e4m3 && type != .float8e5m2
            return isRead
                ? .plain : .unsupported(.init("MLX reads no elements of type \(type.rawValue)", use: "float32"))
        }
        guard let scheme = MLXScheme(of: codec, shape, largest) else {
            return .unsupported(.init("MLX cannot express \(codec.specification)", use: nearest(to: codec, shape)))
        }
        guard shape.rank == 2, name.hasSuffix(".weight") else {
            return .unsupported(.init("MLX quantizes the matrices of layers only", use: "float16"))
        }
        guard scheme.mode != .affine || groups.contains(scheme.group), shape.columns % scheme.group == 0 else {
            let reason =
                scheme.mode != .affine || groups.contains(scheme.group)
                ? "its rows of \(shape.columns) weights are not whole groups of \(scheme.group)"
                : "MLX has groups of 32, 64 or 128 weights"
            return .unsupported(.init(reason, use: nearest(to: codec, shape)))
        }
        return .quantized(scheme)
    }

    /// The scheme with the numbers of a codec, whether MLX has groups of its size or not; nil if it has no such numbers.
    private init?(of codec: any WeightCodec, _ shape: Shape, _ largest: Int) {
        func option(_ name: String, _ value: String) -> Bool { codec.values[name] == value }
        let block = codec.values.integer("block")
        switch codec.name {
        case "affine": self.init(bits: codec.values.integer("bits") ?? 4, group: block ?? shape.columns)
        case "int4" where option("mode", "symmetric"):
            self.init(bits: 4, group: block ?? Self.part(of: shape, upTo: largest))
        case "int8" where option("mode", "symmetric"): self.init(bits: 8, group: Self.part(of: shape, upTo: largest))
        case "mxfp4": self.init(.mxfp4)
        case "mxfp8" where option("type", "e4m3"): self.init(.mxfp8)
        case "nvfp4" where option("global", "none"): self.init(.nvfp4)
        default: return nil
        }
    }

    /// The largest group that divides a row, all of whose groups have the scale of the row.
    static func part(of shape: Shape, upTo largest: Int) -> Int {
        groups.last { $0 <= largest && shape.rank == 2 && shape.columns % $0 == 0 } ?? shape.columns
    }

    /// Returns the nearest scheme that MLX has.
    private static func nearest(to codec: any WeightCodec, _ shape: Shape) -> String {
        guard shape.rank == 2, let largest = groups.last(where: { shape.columns % $0 == 0 }) else {
            return "float16"
        }
        switch codec.name {
        case "mxfp8": return "mxfp8:fit=mlx"
        case "nvfp4": return "nvfp4:global=none,fit=mlx"
        default: break
        }
        let known = ["int8": 8, "float8": 8, "int4": 4, "nf4": 4]
        let wanted = codec.values.integer("bits") ?? known[codec.name] ?? 4
        let bits = allBits.first { $0 >= wanted } ?? 8
        let asked = codec.values.integer("block") ?? 64
        let group = groups.first { $0 >= asked && shape.columns % $0 == 0 } ?? largest
        return "affine:bits=\(bits),block=\(group),scales=weight,fit=mlx"
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
