import AccelByteIO

/// A difference between a Core ML package and an export of the same model.
public struct CoreMLDifference: Equatable, Sendable {
    /// The location: a function, a value of a function, or `metadata`.
    public let name: String
    /// The found and the expected content, as the rest of a sentence.
    public let reason: String

    init(_ name: String, _ reason: String) { (self.name, self.reason) = (name, reason) }
}

extension CoreMLPackage {
    /// Compares the package with an export of the same model. Exports are deterministic, so everything must be equal: the
    /// interface, each operation with its attributes and inputs, and each element.
    /// - Parameters:
    ///   - draft: the export made again.
    ///   - open: names of weights whose elements are not compared, because the model does not determine them.
    /// - Returns: the differences; empty if there are none.
    /// - Throws: `FormatError` if the package is corrupt.
    public func differences(
        from draft: CoreMLDraft, exceptElementsOf open: [String] = []
    ) throws -> [CoreMLDifference] {
        // Encoded and read back, because the encoding does not keep all details of a draft's types.
        let wanted = try CoreMLModel(ByteView(draft.model.encoded), file: "the export made again")
        guard model.specificationVersion == wanted.specificationVersion else {
            let reason = "is \(model.specificationVersion), expected \(wanted.specificationVersion)"
            return [CoreMLDifference("specification version", reason)]
        }
        var differences = model.interfaceDifferences(from: wanted)
        let (own, other) = (model.program.canonical.functions, wanted.program.canonical.functions)
        guard own.map(\.name) == other.map(\.name) else {
            return [CoreMLDifference("functions", "are \(own.map(\.name)), expected \(other.map(\.name))")]
        }
        let names = open.map(MILBuilder.identifier)
        func isOpen(_ operation: MILOperation) -> Bool {
            guard operation.isConstant, let name = operation.outputs.first?.name else { return false }
            return names.contains { name.hasPrefix($0) }
        }
        var openOffsets: Set<Int> = []
        for (own, other) in zip(own, other) {
            if let difference = own.difference(from: other, isOpen: isOpen) { differences.append(difference) }
            openOffsets.formUnion(own.operations.filter(isOpen).flatMap(\.blobOffsets))
        }
        guard differences.isEmpty else { return differences }
        let entries = try blobs?.checkedEntries() ?? []
        let digests = try draft.weights.blobs.digests()
        guard entries.map(\.offset) == digests.map(\.offset) else {
            return [CoreMLDifference("weight.bin", "has \(entries.count) entries, expected \(digests.count)")]
        }
        for ((offset, entry), wanted) in zip(entries, digests) where !openOffsets.contains(offset) {
            guard SHA256.digest(of: entry.bytes) != wanted.digest else { continue }
            differences.append(
                CoreMLDifference(
                    name(ofEntry: offset),
                    "\(entry.elements) \(entry.dataType.word) at byte \(offset) of weight.bin are not what the recipe makes of "
                        + "the model"))
        }
        return differences
    }
}

extension CoreMLModel {
    fileprivate func interfaceDifferences(from wanted: CoreMLModel) -> [CoreMLDifference] {
        let (own, other) = (interfaces.map(\.function), wanted.interfaces.map(\.function))
        guard own == other else {
            return [CoreMLDifference("functions", "are described as \(own), expected \(other)")]
        }
        var differences: [CoreMLDifference] = []
        for (interface, wanted) in zip(interfaces, wanted.interfaces) {
            for (kind, own, other) in [
                ("inputs", interface.inputs, wanted.inputs), ("outputs", interface.outputs, wanted.outputs),
                ("states", interface.states, wanted.states),
            ] where own != other {
                func text(_ features: [Feature]) -> String {
                    features.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
                }
                let reason = "\(kind) are described as \(text(own)), expected \(text(other))"
                differences.append(CoreMLDifference(interface.function, reason))
            }
        }
        func notes(_ model: CoreMLModel) -> [MILNamed<String>] {
            model.metadata.other.filter { note in
                [CoreMLExporter.weightsKey, CoreMLExporter.scalingsKey].contains(note.name)
                    || [Self.rowsKey(of: "", in: ""), Self.partsKey(of: "", in: "")].contains {
                        note.name.hasPrefix($0.dropLast())
                    }
            }.sorted { $0.name < $1.name }
        }
        if notes(self) != notes(wanted) {
            differences.append(
                CoreMLDifference("metadata", "what its weights and outputs are called, and parts of, is another"))
        }
        return differences
    }
}

extension MILFunction {
    /// The first difference.
    fileprivate func difference(
        from wanted: MILFunction, isOpen: (MILOperation) -> Bool
    ) -> CoreMLDifference? {
        guard opset == wanted.opset, inputs == wanted.inputs else {
            return CoreMLDifference(name, "takes other inputs than it has to")
        }
        for (own, other) in zip(operations, wanted.operations) where own != other {
            if isOpen(own), own.shape == other.shape { continue }
            let output = own.outputs.first?.name ?? ""
            guard own.type == other.type, own.outputs == other.outputs else {
                let expected = "\(other.type) \"\(other.outputs.first?.name ?? "")\" is expected"
                return CoreMLDifference(name, "has \(own.type) \"\(output)\" where \(expected)")
            }
            let part =
                own.inputs == other.inputs
                ? zip(own.attributes, other.attributes).first { $0 != $1 }?.0.name
                : zip(own.inputs, other.inputs).first { $0 != $1 }?.0.name
            return CoreMLDifference(
                "\(name) \(output)", "\(own.type) differs in \(part ?? "the number of its inputs")")
        }
        guard operations.count == wanted.operations.count else {
            return CoreMLDifference(
                name, "has \(operations.count) operations, expected \(wanted.operations.count)")
        }
        return outputs == wanted.outputs
            ? nil : CoreMLDifference(name, "gives \(outputs), expected \(wanted.outputs)")
    }
}

extension MILOperation {
    private var values: [MILValue] {
        attributes.map(\.content)
            + inputs.flatMap(\.content).compactMap { if case .value(let value) = $0 { value } else { nil } }
    }

    fileprivate var blobOffsets: [Int] {
        values.compactMap { if case .blob(let offset) = $0.content { offset } else { nil } }
    }

    /// The operation without the elements of its values.
    fileprivate var shape: MILOperation {
        func bare(_ value: MILValue) -> MILValue {
            if case .blob = value.content { value } else { MILValue(value.type, .bytes([])) }
        }
        var shape = self
        for index in shape.attributes.indices {
            shape.attributes[index].content = bare(shape.attributes[index].content)
        }
        for index in shape.inputs.indices {
            shape.inputs[index].content = shape.inputs[index].content.map { binding in
                if case .value(let value) = binding { .value(bare(value)) } else { binding }
            }
        }
        return shape
    }
}
