import AccelByteIO
import AccelPrograms
import AccelTensors

/// The outputs of a sequence of runs: of those with a row for each token the rows of all blocks after each other; of runs on the rows of
/// a file's tensors the rows of all; of others, such as logits of the last position only, the values of the last run. Outputs of several
/// parts of the model are not joined: where they have one name, that of the part is before it.
struct JoinedOutputs {
    private var names: [Name] = []
    private var parts: [Name: [Part]] = [:]

    /// An output of all functions of one part of the model.
    private struct Name: Hashable {
        let part: String
        let output: String
    }

    /// An output, and what of it counts.
    private struct Part {
        let tensor: StoredTensor
        /// The axis on which it follows the parts before.
        let axis: Int
        /// The range that counts on the axis; nil for all.
        let rows: Range<Int>?
    }

    /// - Parameters:
    ///   - interface: of the function that made them.
    ///   - part: the part of the model that the function belongs to.
    mutating func add(_ outputs: [StoredTensor], of step: RunStep, _ interface: Interface, part: String) {
        for output in outputs {
            let name = Name(part: part, output: output.name + step.suffix)
            if parts[name] == nil { names.append(name) }
            let isByToken = step.positions != nil && interface.role(of: output.name, .output).positionAxis == 1
            let part = Part(tensor: output, axis: step.isOfRows ? 0 : 1, rows: isByToken ? step.rows : nil)
            parts[name] = (isByToken || step.isOfRows ? parts[name] ?? [] : []) + [part]
        }
    }

    /// In the order in which they were first made.
    var tensors: [StoredTensor] {
        let shared = Dictionary(grouping: names, by: \.output).filter { $0.value.count > 1 }
        return names.compactMap { name in
            let title = shared[name.output] == nil ? name.output : "\(name.part).\(name.output)"
            return parts[name].flatMap { Self.joined($0, name: title) }
        }
    }

    /// Tensors that differ on the first axis only, after each other on it, under the name of the first.
    static func joined(_ tensors: [StoredTensor]) -> StoredTensor? {
        joined(tensors.map { Part(tensor: $0, axis: 0, rows: nil) }, name: tensors.first?.name ?? "")
    }

    /// Tensors that differ on one axis only, after each other on it. Numbers without an axis get one.
    private static func joined(_ parts: [Part], name: String) -> StoredTensor? {
        guard let first = parts.first else { return nil }
        guard parts.count > 1 || first.rows != nil else { return first.tensor.renamed(name) }
        func size(_ part: Part) -> Int { part.tensor.shape.rank == 0 ? 1 : part.tensor.shape.dimensions[part.axis] }
        var shape = first.tensor.shape.rank == 0 ? Shape([1]) : first.tensor.shape
        shape.dimensions[first.axis] = parts.reduce(0) { $0 + ($1.rows?.count ?? size($1)) }
        let outer = shape.dimensions[..<first.axis].reduce(1, *)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(shape.count * first.tensor.elementType.byteCount)
        for index in 0..<outer {
            for part in parts {
                let width = part.tensor.bytes.count / max(outer * size(part), 1)
                let rows = part.rows ?? 0..<size(part)
                let start = index * size(part)
                part.tensor.bytes[(start + rows.lowerBound) * width..<(start + rows.upperBound) * width]
                    .withBytes { bytes.append(contentsOf: $0) }
            }
        }
        return StoredTensor(name: name, elementType: first.tensor.elementType, shape: shape, bytes: ByteView(bytes))
    }
}
