import AccelByteIO
import AccelPrograms
import AccelTensors

/// The outputs of a sequence of runs: of those with a row for each token the rows of all blocks after each other, of
/// others, such as logits of the last position only, the values of the last run.
struct JoinedOutputs {
    private var names: [String] = []
    private var parts: [String: [StoredTensor]] = [:]

    /// - Parameter interface: of the function that made them.
    mutating func add(_ outputs: [StoredTensor], of step: RunStep, _ interface: Interface) {
        for output in outputs {
            let name = output.name + step.suffix
            if parts[name] == nil { names.append(name) }
            let isByToken = step.positions != nil && interface.role(of: output.name, .output).positionAxis == 1
            parts[name] = (isByToken ? parts[name] ?? [] : []) + [output]
        }
    }

    /// In the order in which they were first made.
    var tensors: [StoredTensor] { names.compactMap { name in parts[name].flatMap { Self.joined($0, name: name) } } }

    /// Tensors that differ on axis 1 only, after each other on it.
    private static func joined(_ parts: [StoredTensor], name: String) -> StoredTensor? {
        guard let first = parts.first else { return nil }
        guard parts.count > 1 else { return first.renamed(name) }
        var shape = first.shape
        shape.dimensions[1] = parts.reduce(0) { $0 + $1.shape.dimensions[1] }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.reduce(0) { $0 + $1.bytes.count })
        for row in 0..<shape.dimensions[0] {
            for part in parts {
                let width = part.bytes.count / shape.dimensions[0]
                part.bytes[row * width..<(row + 1) * width].withBytes { bytes.append(contentsOf: $0) }
            }
        }
        return StoredTensor(name: name, elementType: first.elementType, shape: shape, bytes: ByteView(bytes))
    }
}
