public import AccelTensors

/// A weight of a package: a constant of floating-point numbers that is stored plainly or compressed.
public struct CoreMLWeight: Sendable {
    /// What the program calls it.
    public let name: String
    /// The first function that has it.
    public let function: String
    public let type: MILTensorType
    /// The operation that makes it, e.g. `const`, `constexpr_lut_to_dense`.
    public let operation: String
    /// e.g. `palette, 4 bits, 24 tables`; `fp16`
    public let form: String
    /// Bits of a code, or of a plain number; of vectors, the part of an element.
    public let codeBits: Double
    /// Zeros are left out.
    public let isSparse: Bool
    /// Bits of everything that it is stored as: codes, tables, scales, masks.
    public let storedBits: Int
    /// What it holds, where accelc wrote that down: rows of a tensor that is cut.
    public let holds: TensorRows?

    public var isCompressed: Bool { operation != "const" && operation != "constexpr_cast" }
    /// A code stands for several neighbours.
    public var isOfVectors: Bool { form.contains(" of vectors of ") }
    public var shape: Shape { Shape(type.extents ?? []) }
    public var bitsPerWeight: Double { shape.count == 0 ? 0 : Double(storedBits) / Double(shape.count) }
}

extension CoreMLPackage {
    /// Every weight, in the order of the program; one that several functions share, once.
    /// - Throws: `FormatError` for one whose elements are not in the package.
    public var weights: [CoreMLWeight] {
        get throws {
            var weights: [CoreMLWeight] = []
            var seen: [MILOperation] = []
            for function in model.program.functions {
                let constants = try FunctionConstants(function, of: self)
                let rows = model.rows(of: function.name)
                let parts = Set(function.operations.filter(\.isConstant).flatMap(\.readNames))
                for operation in function.operations where operation.isConstant {
                    // What only feeds other constants is a part of a weight.
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
                    weights.append(
                        CoreMLWeight(
                            name: output.name, function: function.name, type: output.content.tensor,
                            operation: operation.type, form: constants.form(operation),
                            codeBits: constants.codeBits(operation),
                            isSparse: operation.type == "constexpr_sparse_to_dense",
                            storedBits: constants.storedBits(operation), holds: rows[output.name]))
                }
            }
            return weights
        }
    }

    /// The elements of a weight: float32 where it is compressed, else as they are stored.
    public func tensor(of weight: CoreMLWeight) throws -> StoredTensor {
        guard let function = model.program.functions.first(where: { $0.name == weight.function }),
            let tensor = try FunctionConstants(function, of: self).tensor(weight.name)
        else { throw error(weight.name, "is no constant of the package") }
        return tensor
    }
}

extension MILOperation {
    /// The values that it reads by name.
    var readNames: [String] {
        inputs.flatMap(\.content).compactMap { if case .name(let name) = $0 { name } else { nil } }
    }
}

extension FunctionConstants {
    /// Bits of all that a constant operation is stored as, those of the operations that feed it included.
    fileprivate func storedBits(_ operation: MILOperation) -> Int {
        if operation.type == "const" { return operation["val"].map(Self.bits) ?? 0 }
        // An operation of two results, a mask and what it keeps, is stored once.
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

    /// Checks that all parts of a constant operation are there, without decompressing them.
    fileprivate func requireStored(_ operation: MILOperation) throws {
        for binding in bindings(operation) {
            switch binding {
            case .value(let value): _ = try bytes(of: value, operation.outputs.first?.name ?? "")
            case .name(let name): try self.operation(of: name).map(requireStored)
            }
        }
    }

    private static func bits(_ value: MILValue) -> Int {
        Shape(value.type.extents ?? []).count * (value.type.dataType.bits ?? 0)
    }

    private func bindings(_ operation: MILOperation) -> [MILBinding] {
        operation.inputs.flatMap(\.content)
            + operation.attributes.filter { $0.name != "name" && $0.name != "shape" }.map { .value($0.content) }
    }

    /// Bits of what stands for an element.
    fileprivate func codeBits(_ operation: MILOperation) -> Double {
        func type(_ parameter: String) -> MILTensorType? { argumentType(parameter, of: operation) }
        let own =
            ["indices", "indices_nonzero_data", "data", "quantized_data", "nonzero_data", "source_val"].lazy
            .compactMap(type).first ?? operation["val"]?.type
        if let lut = type("lut")?.extents, operation.type.hasPrefix("constexpr_lut") {
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

    /// In words, what a constant operation and those that feed it are.
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
        let count = Shape(type?.extents ?? []).count
        return "\(count) \(type?.dataType.word ?? "") scale\(count == 1 ? "" : "s")"
    }

    private func palette(_ type: MILTensorType?) -> String {
        guard let type, let extents = type.extents, extents.count > 1 else {
            let entries = type?.extents?.first ?? 2
            return "palette, \(max(entries, 1).trailingZeroBitCount) bits, 1 table"
        }
        let (tables, entries, vector) = (
            Shape(Array(extents.dropLast(2))).count, extents[extents.count - 2], extents[extents.count - 1]
        )
        return "palette, \(max(entries, 1).trailingZeroBitCount) bits, \(tables) table\(tables == 1 ? "" : "s")"
            + (vector > 1 ? " of vectors of \(vector)" : "") + (type.dataType == .int8 ? " of int8" : "")
    }
}
