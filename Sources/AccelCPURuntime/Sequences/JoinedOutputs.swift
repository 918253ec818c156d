import AccelByteIO
import AccelPrograms
import AccelTensors

/// The outputs of a sequence of runs: of those with a row for each token the rows of all blocks after each other; of runs on the rows of a
/// file's tensors the rows of all; of others, such as logits of the last position only, the values of the last run.
struct JoinedOutputs {
    private var names: [String] = []
    private var parts: [String: [Part]] = [:]
    /// The outputs that runs on rows have made.
    private var ofRows: Set<String> = []

    /// An output, and its rows that count: the range on axis 1; nil for the whole tensor.
    private struct Part {
        let tensor: StoredTensor
        let rows: Range<Int>?
    }

    /// - Parameter interface: of the function that made them.
    mutating func add(_ outputs: [StoredTensor], of step: RunStep, _ interface: Interface) {
        for output in outputs {
            let name = output.name + step.suffix
            if parts[name] == nil { names.append(name) }
            if step.isOfRows {
                ofRows.insert(name)
                parts[name, default: []].append(Part(tensor: output, rows: nil))
                continue
            }
            let isByToken = step.positions != nil && interface.role(of: output.name, .output).positionAxis == 1
            parts[name] =
                (isByToken ? parts[name] ?? [] : []) + [Part(tensor: output, rows: isByToken ? step.rows : nil)]
        }
    }

    /// In the order in which they were first made.
    var tensors: [StoredTensor] {
        names.compactMap { name in
            parts[name].flatMap { parts in
                ofRows.contains(name) ? Self.stacked(parts.map(\.tensor), name) : Self.joined(parts, name: name)
            }
        }
    }

    /// Tensors of one shape, after each other on axis 0.
    private static func stacked(_ tensors: [StoredTensor], _ name: String) -> StoredTensor? {
        guard let first = tensors.first else { return nil }
        var shape = first.shape
        if shape.rank == 0 { shape.dimensions = [1] }
        shape.dimensions[0] *= tensors.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(tensors.reduce(0) { $0 + $1.bytes.count })
        for tensor in tensors { tensor.bytes.withBytes { bytes.append(contentsOf: $0) } }
        return StoredTensor(name: name, elementType: first.elementType, shape: shape, bytes: ByteView(bytes))
    }

    /// Tensors that differ on axis 1 only, after each other on it.
    private static func joined(_ parts: [Part], name: String) -> StoredTensor? {
        guard let first = parts.first?.tensor else { return nil }
        guard parts.count > 1 || parts[0].rows != nil else { return first.renamed(name) }
        var shape = first.shape
        shape.dimensions[1] = parts.reduce(0) { $0 + ($1.rows?.count ?? $1.tensor.shape.dimensions[1]) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(shape.count * first.elementType.byteCount)
        for row in 0..<shape.dimensions[0] {
            for part in parts {
                let sizes = part.tensor.shape.dimensions
                let width = part.tensor.bytes.count / max(sizes[0] * sizes[1], 1)
                let rows = part.rows ?? 0..<sizes[1]
                let start = row * sizes[1]
                part.tensor.bytes[(start + rows.lowerBound) * width..<(start + rows.upperBound) * width]
                    .withBytes { bytes.append(contentsOf: $0) }
            }
        }
        return StoredTensor(name: name, elementType: first.elementType, shape: shape, bytes: ByteView(bytes))
    }
}
