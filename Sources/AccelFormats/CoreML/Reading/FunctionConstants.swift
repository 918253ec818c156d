import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// The constants of a function; compressed ones are decompressed on demand.
struct FunctionConstants {
    private let package: CoreMLPackage
    private let function: MILFunction
    /// The indices of the operation and output that make a value, by its name.
    private var producers: [String: (operation: Int, output: Int)] = [:]

    /// The longest allowed chain of compressed constants that feed each other.
    private static let maximumDepth = 6

    /// - Throws: `FormatError` if two operations make the same value, or if a constant reads a later one.
    init(_ function: MILFunction, of package: CoreMLPackage) throws {
        (self.function, self.package) = (function, package)
        var depths: [String: Int] = [:]
        for (index, operation) in function.operations.enumerated() {
            for (output, value) in operation.outputs.enumerated() {
                guard producers.updateValue((index, output), forKey: value.name) == nil else {
                    throw package.error("\(function.name).\(value.name)", "two operations make this value")
                }
            }
            guard operation.isConstant else { continue }
            let inputs = operation.readNames.map { depths[$0] }
            let depth = (inputs.compactMap(\.self).max() ?? 0) + 1
            guard !inputs.contains(nil), depth <= Self.maximumDepth else {
                throw package.error(
                    "\(function.name).\(operation.outputs.first?.name ?? "")",
                    "\(operation.type) reads what is no constant before it, or a chain of more than \(Self.maximumDepth)"
                )
            }
            for output in operation.outputs { depths[output.name] = depth }
        }
    }

    /// Returns the constant operation that makes a value; nil for a computed value.
    func operation(of name: String) -> MILOperation? {
        guard let location = producers[name] else { return nil }
        let operation = function.operations[location.operation]
        return operation.isConstant ? operation : nil
    }

    /// Returns the constant called `name`: float32 if compressed, else the stored type; nil for a computed value.
    func tensor(_ name: String) throws -> StoredTensor? {
        guard let operation = operation(of: name) else { return nil }
        if operation.type == "const", let value = operation["val"] { return try stored(value, name) }
        guard let location = producers[name] else { return nil }
        let elements = try elements(name, before: location.operation + 1)
        return StoredTensor(name: name, floats: elements.numbers, shape: Shape(elements.sizes))
    }

    /// Returns a constant in its stored type; codes smaller than a byte become float32 numbers.
    func stored(_ value: MILValue, _ name: String) throws -> StoredTensor {
        let shape = Shape(value.type.sizes ?? [])
        func tensor(_ type: ElementType, _ bytes: ByteView) -> StoredTensor {
            StoredTensor(name: name, elementType: type, shape: shape, bytes: bytes, file: package.path)
        }
        switch value.content {
        case .floats(let floats): return tensor(.float32, ByteView(floats))
        case .doubles(let doubles): return tensor(.float64, ByteView(doubles))
        case .integers(let integers): return tensor(.int32, ByteView(integers))
        case .longs(let longs): return tensor(.int64, ByteView(longs))
        case .flags(let flags): return tensor(.bool, ByteView(flags.map { $0 ? 1 : 0 as UInt8 }))
        case .words: throw package.error("\(function.name).\(name)", "is text, where numbers are expected")
        case .bytes, .blob:
            let bytes = try bytes(of: value, name)
            if let type = ElementType(value.type.dataType) { return tensor(type, bytes) }
            return StoredTensor(name: name, floats: numbers(of: value, bytes), shape: shape)
        }
    }

    func bytes(of value: MILValue, _ name: String) throws -> ByteView {
        guard case .blob(let offset) = value.content else {
            if case .bytes(let bytes) = value.content { return ByteView(bytes) }
            return ByteView([UInt8]())
        }
        guard let blobs = package.blobs else {
            throw package.error("\(function.name).\(name)", "lies in weight.bin, which the package does not have")
        }
        let entry = try blobs.entry(at: offset)
        let count = Shape(value.type.sizes ?? []).count
        guard entry.dataType == value.type.dataType, entry.elements == count,
            entry.bytes.count == value.type.dataType.byteCount(of: count)
        else {
            throw package.error(
                "\(function.name).\(name)",
                "is \(value.type), but weight.bin has \(entry.elements) \(entry.dataType.word) at byte \(offset)")
        }
        return entry.bytes
    }

    private func numbers(of value: MILValue, _ bytes: ByteView) -> [Float] {
        let count = Shape(value.type.sizes ?? []).count
        return bytes.withBytes { Decompression.codes($0, value.type.dataType, count: count) }
    }

    // MARK: Compressed constants

    /// Returns the result of an operation with an index below `limit`.
    private func elements(_ name: String, before limit: Int) throws -> Decompression.Elements {
        guard let location = producers[name], location.operation < limit else {
            throw package.error("\(function.name).\(name)", "no operation before its use makes this constant")
        }
        let operation = function.operations[location.operation]
        guard operation.isConstant else {
            throw package.error("\(function.name).\(name)", "is computed, where a constant is expected")
        }
        if operation.type == "const", let value = operation["val"] { return try elements(of: value, name) }
        // Memory for codes, their numbers, and the result.
        let results = MachineMemory.sum(operation.outputs.map { $0.content.tensor.decompressedBytes })
        try MachineMemory.require(
            MachineMemory.sum([results, results, results]),
            for: "\(package.path): decompressing \(name)")
        do {
            let parameters = Parameters(constants: self, operation: operation, location: location.operation)
            let results = try parameters.decompressed()
            guard location.output < results.count else { throw Decompression.Problem(reason: "has too many results") }
            let result = results[location.output]
            guard operation.outputs[location.output].content.tensor.sizes == result.sizes else {
                throw Decompression.Problem(
                    reason: "says \(operation.outputs[location.output].content.tensor), but is \(result.sizes)")
            }
            return result
        } catch let problem as Decompression.Problem {
            throw package.error("\(function.name).\(name)", "\(operation.type): \(problem.reason)")
        }
    }

    private func elements(of value: MILValue, _ name: String) throws -> Decompression.Elements {
        let stored = try stored(value, name)
        return Decompression.Elements(
            type: value.type.dataType, sizes: stored.shape.dimensions, numbers: stored.floats())
    }

    /// Returns the parameters of a compressed constant; nil if it is not compressed.
    func parameters(of name: String) -> Parameters? {
        guard let location = producers[name], let operation = operation(of: name), operation.type != "const" else {
            return nil
        }
        return Parameters(constants: self, operation: operation, location: location.operation)
    }

    /// The parameters of a constexpr operation: attributes (iOS 16), values, or names of other constants (iOS 18).
    struct Parameters {
        fileprivate let constants: FunctionConstants
        let operation: MILOperation
        fileprivate let location: Int

        func optional(_ name: String) throws -> Decompression.Elements? {
            switch operation.binding(name) {
            case nil: nil
            case .name(let other)?: try constants.elements(other, before: location)
            case .value(let value)?: try constants.elements(of: value, operation.outputs.first?.name ?? name)
            }
        }

        func required(_ name: String) throws -> Decompression.Elements {
            guard let elements = try optional(name) else { throw Decompression.Problem(reason: "has no \(name)") }
            return elements
        }

        func integer(_ name: String) throws -> Int? {
            guard let elements = try optional(name) else { return nil }
            guard elements.count == 1, let integer = Int(exactly: elements.numbers[0]) else {
                throw Decompression.Problem(reason: "\(name) is no integer")
            }
            return integer
        }

        /// Unpacks a parameter of iOS 16: a stream of bits with the shape in another parameter.
        func unpacked(_ name: String, bits: Int) throws -> Decompression.Elements {
            let sizes = try required("shape").numbers.map { Int(exactly: $0) ?? -1 }
            let packed = try required(name)
            guard let count = Shape(sizes).checkedCount, let type = MILDataType(codeBits: bits), count < 1 << 40,
                packed.type == .uint8, packed.count == type.byteCount(of: count)
            else { throw Decompression.Problem(reason: "\(packed.sizes) bytes of \(name) do not fill \(sizes)") }
            let bytes = packed.numbers.map { UInt8($0) }
            let used = count * bits % 8
            guard used == 0 || (bytes.last ?? 0) >> UInt8(used) == 0 else {
                throw Decompression.Problem(reason: "bits after the last of \(name) are not zero")
            }
            return Decompression.Elements(
                type: type, sizes: sizes,
                numbers: bytes.withUnsafeBytes { Decompression.codes($0, type, count: count) })
        }

        func decompressed() throws -> [Decompression.Elements] {
            switch operation.type {
            case "constexpr_cast":
                var source = try required("source_val")
                source.type = .float32
                return [source]
            case "constexpr_affine_dequantize":
                return [
                    try Decompression.affine(
                        required("quantized_data"), scale: required("scale"), zero: required("zero_point"),
                        axis: integer("axis") ?? 0)
                ]
            case "constexpr_blockwise_shift_scale":
                return [
                    try Decompression.shiftScale(
                        required("data"), scale: required("scale"), offset: optional("offset"))
                ]
            case "constexpr_lut_to_dense":
                guard let (indices, tables) = try table() else { throw Decompression.Problem(reason: "has no table") }
                return [try Decompression.lookUp(indices, tables: tables, vectorAxis: integer("vector_axis"))]
            case "constexpr_sparse_to_dense" where operation.binding("shape") != nil:
                return [try Decompression.scatter(required("nonzero_data"), mask: unpacked("mask", bits: 1))]
            case "constexpr_sparse_to_dense":
                return [try Decompression.scatter(required("nonzero_data"), mask: required("mask"))]
            case "constexpr_lut_to_sparse":
                return try lookedUpSparse()
            case "constexpr_sparse_blockwise_shift_scale":
                let mask = try required("data_mask")
                let dense = try Decompression.shiftScale(
                    Decompression.scatter(required("nonzero_data"), mask: mask), scale: required("scale"),
                    offset: optional("offset"))
                return [mask, Decompression.collect(dense, mask: mask)]
            default:
                throw Decompression.Problem(reason: "is an operation that accelc does not read")
            }
        }

        /// Returns the indices and the tables for blocks of them; nil for another operation.
        func table() throws -> (indices: Decompression.Elements, tables: Decompression.Elements)? {
            guard operation.type == "constexpr_lut_to_dense" else { return nil }
            var tables = try required("lut")
            guard operation.binding("shape") != nil else { return (try required("indices"), tables) }
            guard tables.sizes.count == 1, tables.count.nonzeroBitCount == 1, tables.count <= 256 else {
                throw Decompression.Problem(reason: "\(tables.sizes) is no table")
            }
            let indices = try unpacked("indices", bits: tables.count.trailingZeroBitCount)
            tables.sizes = indices.sizes.map { _ in 1 } + [tables.count, 1]
            return (indices, tables)
        }

        private func lookedUpSparse() throws -> [Decompression.Elements] {
            let (mask, tables, axis) = (
                try required("indices_mask"), try required("lut"), try integer("vector_axis")
            )
            let codes = try Decompression.scatter(required("indices_nonzero_data"), mask: mask)
            let dense = try Decompression.lookUp(codes, tables: tables, vectorAxis: axis)
            var wide = mask
            if let vector = tables.sizes.last, vector > 1 {
                var ones = tables
                ones.sizes = mask.sizes.map { _ in 1 } + [2, vector]
                ones.numbers = [Float](repeating: 0, count: vector) + [Float](repeating: 1, count: vector)
                wide = try Decompression.lookUp(mask, tables: ones, vectorAxis: axis)
                wide.type = .uint1
            }
            return [wide, Decompression.collect(dense, mask: wide)]
        }
    }
}

extension MILOperation {
    /// Whether the result is a constant of the package.
    var isConstant: Bool { type == "const" || type.hasPrefix("constexpr_") }

    /// The attribute of a name.
    subscript(name: String) -> MILValue? { attributes.first { $0.name == name }?.content }

    /// Returns the argument of a parameter, from the inputs or the attributes.
    func binding(_ name: String) -> MILBinding? {
        inputs.first { $0.name == name }?.content.first ?? self[name].map(MILBinding.value)
    }
}

extension ElementType {
    /// The type that stores these elements; nil for types smaller than a byte and for strings.
    init?(_ type: MILDataType) {
        switch type {
        case .bool: self = .bool
        case .float16: self = .float16
        case .float32: self = .float32
        case .float64: self = .float64
        case .bfloat16: self = .bfloat16
        case .int8: self = .int8
        case .int16: self = .int16
        case .int32: self = .int32
        case .int64: self = .int64
        case .uint8: self = .uint8
        case .uint16: self = .uint16
        case .uint32: self = .uint32
        case .uint64: self = .uint64
        default: return nil
        }
    }
}

extension MILTensorType {
    /// Bytes of the elements as float32; `Int.max` if a size is unknown or the number overflows.
    var decompressedBytes: Int {
        sizes.flatMap { Shape($0 + [MemoryLayout<Float>.stride]).checkedCount } ?? .max
    }
}
