public import AccelTensors

/// A weight of a Core ML package: a floating-point constant, plain or compressed.
public struct CoreMLWeight: Sendable {
    /// The name in the program.
    public let name: String
    /// The name of the first function with this weight.
    public let function: String
    /// The type of the decompressed weight.
    public let type: MILTensorType
    /// The operation that makes the weight, e.g. `const`, `constexpr_lut_to_dense`.
    public let operation: String
    /// The storage scheme in words, e.g. `palette, 4 bits, 24 tables`; `fp16`.
    public let form: String
    /// Bits of a code or of a plain number; for vector codes, the share of one element.
    public let codeBits: Double
    /// Whether the weight is stored as a mask with the nonzero values.
    public let isSparse: Bool
    /// Bits of all stored parts: codes, tables, scales, masks.
    public let storedBits: Int
    /// The rows of a larger tensor that the weight holds, if the package records them.
    public let holds: TensorRows?
    /// The earlier weight whose bytes in `weight.bin` this one reads again, for another operation; its bytes count once.
    public let repeats: String?

    /// Whether the weight is stored as something other than plain numbers.
    public var isCompressed: Bool { operation != "const" && operation != "constexpr_cast" }
    /// Whether a code stands for a vector of several elements.
    public var isOfVectors: Bool { form.contains(" of vectors of ") }
    /// The shape of the decompressed weight.
    public var shape: Shape { Shape(type.sizes ?? []) }
    /// Stored bits for each element; 0 for an empty weight.
    public var bitsPerWeight: Double { shape.count == 0 ? 0 : Double(storedBits) / Double(shape.count) }
}

extension CoreMLPackage {
    /// All weights in the order of the program. A weight that several functions share is listed once.
    /// - Throws: `FormatError` for a weight whose elements are missing.
    public var weights: [CoreMLWeight] {
        get throws {
            var weights: [CoreMLWeight] = []
            var seen: [MILOperation] = []
            var readers: [[Int]: [(name: String, tensor: String)]] = [:]
            for function in model.program.functions {
                let constants = try FunctionConstants(function, of: self)
                let rows = model.rows(of: function.name)
                let parts = Set(function.operations.filter(\.isConstant).flatMap(\.readNames))
                for operation in function.operations where operation.isConstant {
                    // A constant that feeds only other constants is a part of a weight.
                    guard operation.outputs.count == 1, let output = operation.outputs.first,
                        !parts.contains(output.name), output.content.tensor.dataType.isFloatingPoint,
                        output.content.tensor.rank > 0
                    else { continue }
                    if model.program.functions.count > 1 {
                        var unnamed = operation
                        unnamed.attributes.removeAll { $0.name == "name" }
                        if seen.contains(unnamed) { continue }
                        seen.append(unnamed)
                    }
                    try constants.requireStored(operation)
                    let (blobs, holds) = (constants.blobs(operation), rows[output.name])
                    // Other tensors may have equal bytes. accelc records the tensor that a constant holds; other
                    // converters number the names of one tensor's constants.
                    let tensor = holds.map { MILBuilder.identifier($0.tensor) } ?? output.name
                    let earlier = readers[blobs]?.first { reader in
                        reader.tensor == tensor || output.name.hasPrefix("\(reader.name)_")
                    }
                    if earlier == nil, !blobs.isEmpty { readers[blobs, default: []].append((output.name, tensor)) }
                    weights.append(
                        CoreMLWeight(
                            name: output.name, function: function.name, type: output.content.tensor,
                            operation: operation.type, form: constants.form(operation),
                            codeBits: constants.codeBits(operation),
                            isSparse: operation.type == "constexpr_sparse_to_dense",
                            storedBits: constants.storedBits(operation), holds: holds, repeats: earlier?.name))
                }
            }
            return weights
        }
    }

    /// Returns the elements of a weight: float32 for a compressed weight, else the stored type.
    /// - Throws: `FormatError` if the weight is corrupt.
    public func tensor(of weight: CoreMLWeight) throws -> StoredTensor {
        guard let function = model.program.functions.first(where: { $0.name == weight.function }),
            let tensor = try FunctionConstants(function, of: self).tensor(weight.name)
        else { throw error(weight.name, "is no constant of the package") }
        return tensor
    }
}

extension [CoreMLWeight] {
    /// The weights without those that read the bytes of another one again.
    public var withoutRepeated: [CoreMLWeight] { filter { $0.repeats == nil } }
}

extension MILOperation {
    /// The names of the values that the operation reads.
    var readNames: [String] {
        inputs.flatMap(\.content).compactMap { if case .name(let name) = $0 { name } else { nil } }
    }
}

extension FunctionConstants {
    /// Returns the bits of all stored parts of a constant operation, including operations that feed it.
    fileprivate func storedBits(_ operation: MILOperation) -> Int {
        if operation.type == "const" { return operation["val"].map(Self.bits) ?? 0 }
        // An operation with two results, a mask and the kept values, counts once.
        var feeding: Set<String> = []
        return bindings(operation).reduce(0) { sum, binding in
            switch binding {
            case .value(let value):
                return sum + (value.type.rank == 0 && value.type.dataType == .int32 ? 0 : Self.bits(value))
            case .name(let name):
                guard let other = self.operation(of: name), feeding.insert(other.outputs.first?.name ?? name).inserted
                else { return sum }
                return sum + storedBits(other)
            }
        }
    }

    /// Returns the offsets in `weight.bin` of all parts of a constant operation.
    fileprivate func blobs(_ operation: MILOperation) -> [Int] {
        bindings(operation).flatMap { binding -> [Int] in
            switch binding {
            case .value(let value): if case .blob(let offset) = value.content { [offset] } else { [] }
            case .name(let name): self.operation(of: name).map(blobs) ?? []
            }
        }.sorted()
    }

    /// Checks that all parts of a constant operation are present, without decompressing them.
    fileprivate func requireStored(_ operation: MILOperation) throws {
        for binding in bindings(operation) {
            switch binding {
            case .value(let value): _ = try bytes(of: value, operation.outputs.first?.name ?? "")
            case .name(let name): try self.operation(of: name).map(requireStored)
            }
        }
    }

    private static func bits(_ value: MILValue) -> Int {
        Shape(value.type.sizes ?? []).count * (value.type.dataType.bits ?? 0)
    }

    private func bindings(_ operation: MILOperation) -> [MILBinding] {
        operation.inputs.flatMap(\.content)
            + operation.attributes.filter { $0.name != "name" && $0.name != "shape" }.map { .value($0.content) }
    }

    /// Returns the bits of an element's code.
    fileprivate func codeBits(_ operation: MILOperation) -> Double {
        func type(_ parameter: String) -> MILTensorType? { argumentType(parameter, of: operation) }
        let own =
            ["indices", "indices_nonzero_data", "data", "quantized_data", "nonzero_data", "source_val"].lazy
            .compactMap(type).first ?? operation["val"]?.type
        if let lut = type("lut")?.sizes, operation.type.hasPrefix("constexpr_lut") {
            guard lut.count > 1 else { return Double(max(lut.first ?? 1, 1).trailingZeroBitCount) }
            return Double(lut[lut.count - 2].trailingZeroBitCount) / Double(max(lut[lut.count - 1], 1))
        }
        for parameter in ["nonzero_data", "data"] {
            if case .name(let name)? = operation.binding(parameter), let other = self.operation(of: name),
                other.type != "const"
            {
                return codeBits(other)
            }
        }
        return Double(own?.dataType.bits ?? 32)
    }

    private func argumentType(_ parameter: String, of operation: MILOperation) -> MILTensorType? {
        switch operation.binding(parameter) {
        case .value(let value)?: value.type
        case .name(let name)?: self.operation(of: name)?.outputs.first { $0.name == name }?.content.tensor
        case nil: nil
        }
    }

    /// Returns the storage scheme of a constant operation in words.
    fileprivate func form(_ operation: MILOperation) -> String {
        func type(_ parameter: String) -> MILTensorType? { argumentType(parameter, of: operation) }
        func feeding(_ parameter: String) -> String {
            guard case .name(let name)? = operation.binding(parameter), let other = self.operation(of: name),
                other.type != "const"
            else { return "" }
            return " of (\(form(other)))"
        }
        switch operation.type {
        case "const": return operation["val"]?.type.dataType.word ?? "const"
        case "constexpr_cast": return "fp16 widened to fp32"
        case "constexpr_affine_dequantize":
            return "affine, \(type("quantized_data")?.dataType.word ?? "?"), \(scales(type("scale")))"
        case "constexpr_blockwise_shift_scale", "constexpr_sparse_blockwise_shift_scale":
            let data = operation.type == "constexpr_blockwise_shift_scale" ? "data" : "nonzero_data"
            return "affine, \(type(data)?.dataType.word ?? "?"), \(scales(type("scale")))\(feeding(data))"
        case "constexpr_lut_to_dense", "constexpr_lut_to_sparse":
            return palette(type("lut")) + feeding("lut") + feeding("indices")
        case "constexpr_sparse_to_dense": return "sparse\(feeding("nonzero_data"))"
        default: return operation.type
        }
    }

    private func scales(_ type: MILTensorType?) -> String {
        let count = Shape(type?.sizes ?? []).count
        return "\(count) \(type?.dataType.word ?? "") scale\(count == 1 ? "" : "s")"
    }

    private func palette(_ type: MILTensorType?) -> String {
        guard let type, let sizes = type.sizes, sizes.count > 1 else {
            let entries = type?.sizes?.first ?? 2
            return "palette, \(max(entries, 1).trailingZeroBitCount) bits, 1 table"
        }
        let (tables, entries, vector) = (
            Shape(Array(sizes.dropLast(2))).count, sizes[sizes.count - 2], sizes[sizes.count - 1]
        )
        return "palette, \(max(entries, 1).trailingZeroBitCount) bits, \(tables) table\(tables == 1 ? "" : "s")"
            + (vector > 1 ? " of vectors of \(vector)" : "") + (type.dataType == .int8 ? " of int8" : "")
    }
}
