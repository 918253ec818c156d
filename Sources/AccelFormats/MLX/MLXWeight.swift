import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// A weight as MLX stores it.
struct MLXWeight {
    let name: String
    /// The number of weights.
    let count: Int
    /// The codec that encoded it; nil for plain numbers.
    let specification: String?
    /// The element type in the checkpoint.
    let elementType: ElementType
    /// The tensors of the file: codes, scales and biases, or the plain numbers.
    let tensors: [StoredTensor]
    /// The name in the checkpoint, if that does not follow from the name in the file.
    var ownName: String?
    /// The layer with its scheme, which is nil for a plain matrix; nil if no layer is quantized by this weight.
    let layer: (name: String, scheme: MLXScheme?)?

    /// A tensor that is no weight of the model.
    init(_ tensor: StoredTensor) {
        (name, count, elementType, tensors) = (tensor.name, 0, tensor.elementType, [tensor])
        (specification, layer) = (nil, nil)
    }

    /// - Parameters:
    ///   - order: the order of a plain tensor's axes in the file.
    ///   - largest: the largest group for a scale that holds for a whole row.
    /// - Throws: `RequestError` if MLX has no such scheme.
    init(
        _ weight: CompressedTensor, as name: String, order: AxisOrder = .same,
        groupsUpTo largest: Int = MLXScheme.largestGroup
    ) throws {
        (self.name, count, elementType) = (name, weight.shape.count, weight.elementType)
        let module = name.hasSuffix(".weight") ? String(name.dropLast(".weight".count)) : nil
        let storage = MLXScheme.storage(
            of: weight.codec, elementType: weight.elementType, shape: weight.shape, as: name, groupsUpTo: largest)
        switch storage {
        case .plain:
            guard case .values(let type, let bytes)? = weight.encoding else {
                throw RequestError("weight \(quoted(weight.name)) is not plain", status: .internalFailure)
            }
            tensors = [
                try order.applied(
                    to: StoredTensor(name: name, elementType: type, shape: weight.shape, bytes: bytes))
            ]
            specification = nil
            layer = module.flatMap { weight.shape.rank == 2 ? ($0, nil) : nil }
        case .quantized(let scheme):
            guard let module else {
                throw UnsupportedScheme("MLX quantizes the matrices of layers only", use: "float16")
                    .error(of: weight.name, inPackage: true)
            }
            let isInteger = weight.codec.name.hasPrefix("int")
            let (sections, type) = try isInteger ? MLXIntegers.affine(weight, scheme) : MLXWeight.stored(weight)
            let scales = scheme.scaleShape(weight.shape)
            let kinds: [(part: String, type: ElementType, shape: Shape)] = [
                ("weight", .uint32, scheme.codeShape(weight.shape)),
                ("scales", scheme.mode == .affine ? type : .uint8, scales),
                ("biases", type, scales),
            ]
            tensors = zip(kinds, sections).map { kind, bytes in
                StoredTensor(
                    name: "\(module).\(kind.part)", elementType: kind.type, shape: kind.shape, bytes: bytes)
            }
            specification = weight.codec.values.fullSpecification
            layer = (module, scheme)
        case .unsupported(let scheme): throw scheme.error(of: weight.name, inPackage: true)
        }
    }

    /// Returns the sections of a weight whose codec stores what MLX stores, with the type of its scales: float32 if they are codes.
    private static func stored(_ weight: CompressedTensor) -> ([ByteView], ElementType) {
        let codec = weight.codec as? any BlockScaledCodec
        return (weight.sections, codec?.blockScaledCodes(weight.shape).scaleType.elementType ?? .float32)
    }

    var byteCount: Int { tensors.reduce(0) { $0 + $1.bytes.count } }
}

/// Symmetric integers as MLX stores them: the code less half of all codes is the integer, and the bias is the scale times that
/// half, which no type rounds.
enum MLXIntegers {
    /// Returns codes, scales and biases of a weight by `int4` or `int8`, whose scales hold for whole groups, and the type of both.
    /// - Throws: `RequestError` for a bias beyond the type of the scales.
    static func affine(_ weight: CompressedTensor, _ scheme: MLXScheme) throws -> ([ByteView], ElementType) {
        guard case .affine(let encoding)? = weight.encoding, encoding.isSigned, encoding.zeros == nil else {
            throw RequestError("weight \(quoted(weight.name)) has no symmetric codes", status: .internalFailure)
        }
        let (rows, groups) = (weight.shape.rows, weight.shape.columns / scheme.group)
        let blocks = encoding.scales.count / max(encoding.scaleRows, 1)
        let scales = (0..<rows).flatMap { row in
            (0..<groups).map { group in
                encoding.scales[(encoding.scaleRows == 1 ? 0 : row) * blocks + group * scheme.group / encoding.block]
            }
        }
        let biases = scales.map { -$0 * Float(1 << (scheme.bits - 1)) }
        let isHalf = encoding.scaleType == .float16
        guard biases.allSatisfy({ (isHalf ? Half.value(Half.bits($0)) : $0).isFinite }) else {
            throw RequestError(
                "weight \(quoted(weight.name)): a scale times \(1 << (scheme.bits - 1)) exceeds "
                    + "\(encoding.scaleType.rawValue), in which MLX stores biases: use scales=float32")
        }
        func stored(_ floats: [Float]) -> ByteView {
            isHalf ? ByteView(floats.map { Half.bits($0) }) : ByteView(floats)
        }
        let sections = [flipped(encoding.codes.bytes, bits: scheme.bits), stored(scales), stored(biases)]
        return (sections, isHalf ? .float16 : .float32)
    }

    /// Returns the sections of a weight by `int4` or `int8`, whose codes, scales and biases a file has.
    /// - Throws: `FormatError` if these are not of symmetric integers.
    static func integers(
        _ tensors: [StoredTensor], _ scheme: MLXScheme, as codec: any WeightCodec, _ shape: Shape
    ) throws -> [ByteView] {
        let (codes, scales, biases) = (tensors[0], tensors[1], tensors[2])
        let type: ElementType = codec.values["scales"] == "float16" ? .float16 : .float32
        let layout = codec.sections(elementType: .float32, shape: shape)
        let scaleCount = layout.count == 2 && scales.elementType == type ? layout[1].byteCount / type.byteCount : 0
        let (values, half) = (scales.floats(), Float(1 << (scheme.bits - 1)))
        if let index = zip(values, biases.floats()).enumerated().first(where: { $0.1.1 != -$0.1.0 * half })?.offset {
            throw biases.error("is not the scale times -\(Int(half)), as symmetric integers have it", index: index)
        }
        // All groups of a channel, or of the tensor, have its scale.
        let repeats = values.count / max(scaleCount, 1)
        guard scaleCount > 0, values.count % scaleCount == 0,
            values.indices.allSatisfy({ values[$0].bitPattern == values[$0 - $0 % repeats].bitPattern })
        else { throw scales.error("are not those of \(codec.specification), as which accelc wrote the layer") }
        let width = scales.elementType.byteCount
        let kept = scales.bytes.withBytes { bytes in
            (0..<scaleCount).flatMap { bytes[$0 * repeats * width..<($0 * repeats + 1) * width] }
        }
        return [flipped(codes.bytes, bits: scheme.bits), ByteView(kept)]
    }

    /// Returns codes with the other sign: those in two's complement start at 0, and the other way round.
    private static func flipped(_ codes: ByteView, bits: Int) -> ByteView {
        let mask: UInt8 = bits == 4 ? 0x88 : 0x80
        let target = ByteBuffer(count: codes.count)
        codes.withBytes { source in
            for index in source.indices { target.bytes[index] = source[index] ^ mask }
        }
        return ByteView(target)
    }
}
