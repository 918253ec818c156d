import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Lowers one weight to the operations that decompress it.
///
/// The result is float16 in a graph of float16 if every part of the weight is, and otherwise float32.
struct CoreAIWeightLowering {
    let name: String
    let shape: [Int]
    let floatType: CoreAIElement
    var weights: CoreAIWeights
    var builder: CoreAIBuilder
    /// The operation that makes the weight.
    private(set) var operation = "constant"
    private(set) var byteCount = 0

    init(
        _ name: String, _ shape: [Int], floatType: CoreAIElement, _ weights: CoreAIWeights, _ builder: CoreAIBuilder
    ) {
        (self.name, self.shape, self.floatType) = (name, shape, floatType)
        (self.weights, self.builder) = (weights, builder)
    }

    var rows: Int { shape.first ?? 1 }
    var columns: Int { shape.dropFirst().reduce(1, *) }

    /// Returns the value of a weight.
    /// - Throws: `LoweringGap` for an encoding that the format does not have.
    mutating func value(of weight: CompressedTensor) throws -> CoreAIValue {
        if let codec = weight.codec as? any BlockScaledCodec {
            let codes = codec.blockScaledCodes(weight.shape)
            if case .float8(let isE5M2) = codes.values {
                return try bytes(of: weight, codes, isE5M2 ? .float8e5m2 : .float8e4m3)
            }
        }
        switch weight.encoding {
        case nil:
            throw LoweringGap(reason: "no operation of Core AI's holds it", candidates: ["int8", "palette"])
        case .values(let type, let bytes): return try plain(type, bytes)
        case .affine(let affine): return try self.affine(affine)
        case .palette(let palette): return try self.palette(palette)
        case .vectors(let vectors): return try self.vectors(vectors)
        case .sparse(let sparse): return try self.sparse(sparse)
        }
    }

    // MARK: - Constants

    /// Adds a constant whose elements are a resource.
    mutating func stored(
        _ part: String, _ bytes: ByteView, _ shape: [Int], _ element: CoreAIElement
    ) throws -> CoreAIValue {
        let count = element.byteCount(shape.reduce(1, *))
        // The runtime does not compare lengths: it would read past the end.
        guard bytes.count == count else {
            throw RequestError(
                "weight \(quoted(name)): \(part) has \(bytes.count) bytes, and \(shape) needs \(count)",
                status: .internalFailure)
        }
        byteCount += count
        let attribute = weights.resource(part.isEmpty ? name : "\(name) \(part)", bytes)
        return builder.apply(CoreAIOperation.constant, [], shape, element, property: attribute)
    }

    /// Adds numbers in float16 where that holds every one, cast to another type where it is wanted.
    mutating func numbers(
        _ part: String, _ floats: [Float], _ shape: [Int], as wanted: CoreAIElement? = nil
    ) throws -> CoreAIValue {
        let halves = floats.halfBytes
        let areHalves = halves.withUnsafeBytes { bytes in
            floats.indices.allSatisfy {
                Half.value(bytes.loadUnaligned(fromByteOffset: $0 * 2, as: UInt16.self)) == floats[$0]
            }
        }
        let value =
            areHalves
            ? try stored(part, ByteView(halves), shape, .float16) : try stored(part, ByteView(floats), shape, .float32)
        if let wanted { return builder.cast(value, to: wanted) }
        return floatType == .float16 ? value : builder.cast(value, to: .float32)
    }

    mutating func codes(
        _ part: String, _ integers: [Int], _ shape: [Int], _ element: CoreAIElement
    ) throws -> CoreAIValue {
        let bits = element.bits
        var bytes = [UInt8](repeating: 0, count: element.byteCount(integers.count))
        let perByte = 8 / bits
        for (index, integer) in integers.enumerated() {
            let code = UInt8(truncatingIfNeeded: integer) & UInt8(truncatingIfNeeded: (1 << bits) - 1)
            bytes[index / perByte] |= code << UInt8(index % perByte * bits)
        }
        return try stored(part, ByteView(bytes), shape, element)
    }

    private mutating func plain(_ type: ElementType, _ bytes: ByteView) throws -> CoreAIValue {
        let tensor = StoredTensor(name: name, elementType: type, shape: Shape(shape), bytes: bytes)
        if floatType == .float16 { return try stored("", tensor.bytes(as: .float16), shape, .float16) }
        switch type {
        case .float32, .float16, .bfloat16:
            return builder.cast(try stored("", bytes, shape, CoreAIElement(type)), to: .float32)
        default: return try stored("", tensor.bytes(as: .float32), shape, .float32)
        }
    }

    /// Writes all elements as plain numbers.
    mutating func dense(_ floats: [Float]) throws -> CoreAIValue { try plain(.float32, ByteView(floats)) }

    // MARK: - Operations

    /// Appends `scale * (data - zero) + minimum`, where scales, zeros and minima have one shape.
    mutating func scaled(
        _ data: CoreAIValue, by scale: CoreAIValue, zero: CoreAIValue? = nil, minimum: CoreAIValue? = nil
    ) -> CoreAIValue {
        operation = "blockwise_shift_scale"
        // Zeros of less than a byte take a whole one inside of an operation.
        let none = zero ?? builder.number(0, scale.shape, data.element)
        let least = minimum ?? builder.number(0, scale.shape, scale.element)
        return builder.apply(
            "primitive.blockwise_shift_scale_v2", [data, scale, none, least], data.shape, scale.element)
    }

    /// Appends a lookup of codes in tables of vectors along an axis.
    mutating func lookedUp(_ codes: CoreAIValue, in table: CoreAIValue, axis: Int = 0) -> CoreAIValue {
        operation = "lut_to_dense"
        var shape = codes.shape
        shape[axis] *= table.shape.last ?? 1
        return builder.apply(
            "primitive.lut_to_dense_v1", [codes, table, builder.constant([axis], .int16, shape: [])], shape,
            table.element)
    }

    /// Appends a value of which a mask keeps some elements, or its lookup in a table.
    mutating func kept(_ values: CoreAIValue, _ mask: CoreAIValue, table: CoreAIValue? = nil) -> CoreAIValue {
        operation = "sparse_with_bitmask_to_dense"
        func sparse(_ name: String, _ operands: [Int], _ element: CoreAIElement) -> Int {
            builder.append(
                CoreAIOperation(
                    name: "primitive.\(name)_v1", operands: operands,
                    results: [.sparse(mask.shape, element, nonZero: values.shape[0])]))
        }
        var (spread, element) = (
            sparse("build_sparse_with_bitmask", [values.id, mask.id], values.element), values.element
        )
        if let table {
            let axis = builder.constant([0], .int16, shape: [])
            element = table.element
            spread = sparse("lut_to_sparse_with_bitmask", [spread, table.id, axis.id], element)
        }
        let id = builder.append(
            CoreAIOperation(
                name: "primitive.sparse_with_bitmask_to_dense_v1", operands: [spread],
                results: [.tensor(mask.shape, element)]))
        return CoreAIValue(id: id, shape: mask.shape, element: element)
    }
}
