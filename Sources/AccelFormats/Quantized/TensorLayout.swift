import AccelByteIO
import AccelPackages
import AccelTensors
import AccelWeightCompression

/// The names, axes and configuration by which a tool stores a model, where these are not those of the family's checkpoints.
struct TensorLayout: Sendable {
    /// config.json as checkpoints have it.
    let configuration: JSONField
    /// The tensors that the tool computes and checkpoints have.
    var added: [StoredTensor] = []
    /// Returns the name of a tensor in checkpoints, and the order of its axes in the file; nil for a tensor that checkpoints
    /// do not have.
    let place: @Sendable (_ name: String) -> (name: String, order: AxisOrder)?

    /// The files that a package passes through: the configuration is that of checkpoints.
    func assets(_ assets: [Asset]) -> [Asset] {
        let own = Asset(
            name: "config.json",
            content: ByteView(Array((configuration.value?.text(pretty: true) ?? "").utf8)))
        return [own] + assets.filter { $0.name != own.name }
    }
}

/// How the axes of a tensor in a file differ from those of the checkpoint.
enum AxisOrder: Sendable {
    case same
    /// A matrix is transposed in the checkpoint, and the programs have it as the file does.
    case transposed
    /// The kernel of a convolution: [outputs, positions, inputs] in the file, [outputs, inputs, positions] in the checkpoint.
    case channelsLast

    /// Returns a tensor of the program in the order of the file.
    /// - Throws: `FormatError` for another rank.
    func applied(to tensor: StoredTensor) throws -> StoredTensor {
        self == .channelsLast ? try Self.swapping(tensor) : tensor
    }

    /// Returns a tensor of the file in the order of the checkpoint.
    /// - Throws: `FormatError` for another rank.
    func undone(in tensor: StoredTensor) throws -> StoredTensor {
        switch self {
        case .same: return tensor
        case .transposed:
            guard tensor.shape.rank == 2 else { throw tensor.error("expected a matrix, found \(tensor.shape)") }
            return tensor.transposed()
        case .channelsLast: return try Self.swapping(tensor)
        }
    }

    /// Returns the shape in the checkpoint of a tensor of the file.
    func undone(_ shape: Shape) -> Shape {
        switch (self, shape.rank) {
        case (.transposed, 2): shape.transposed
        case (.channelsLast, 3): [shape.dimensions[0], shape.dimensions[2], shape.dimensions[1]]
        default: shape
        }
    }

    /// Returns a tensor of three axes with the last two exchanged.
    private static func swapping(_ tensor: StoredTensor) throws -> StoredTensor {
        let sizes = tensor.shape.dimensions
        guard sizes.count == 3 else { throw tensor.error("expected three axes, found \(tensor.shape)") }
        let (rows, columns, width) = (sizes[1], sizes[2], tensor.elementType.byteCount)
        let target = ByteBuffer(count: tensor.bytes.count)
        tensor.bytes.withBytes { source in
            for outer in 0..<sizes[0] {
                let first = outer * rows * columns
                for row in 0..<rows {
                    for column in 0..<columns {
                        let (from, to) = (first + row * columns + column, first + column * rows + row)
                        UnsafeMutableRawBufferPointer(rebasing: target.bytes[to * width..<(to + 1) * width])
                            .copyMemory(
                                from: UnsafeRawBufferPointer(rebasing: source[from * width..<(from + 1) * width]))
                    }
                }
            }
        }
        return StoredTensor(
            name: tensor.name, elementType: tensor.elementType, shape: [sizes[0], columns, rows],
            bytes: ByteView(target), file: tensor.file)
    }
}
