import AccelPrograms
import AccelTensors

/// A float32 operand whose elements a kernel wants all at once: in memory, or a stored weight that is decoded to scratch
/// memory in a step of its own.
struct WholeWeight: Sendable {
    private let location: MemoryLocation
    private let offset: Int
    /// Come before the kernel's own.
    let steps: [KernelStep]
    let reason: String

    /// - Throws: `Unsuitable` unless the operand's elements follow each other.
    init(_ operand: OperandMemory, in workspace: Workspace) throws(Unsuitable) {
        guard operand.elementType == .float32, operand.layout.isContiguous else {
            throw Unsuitable("reads no strided weight")
        }
        switch operand.location {
        case .memory(let location):
            (self.location, offset, steps, reason) = (location, operand.layout.offset, [], "weight in memory")
        case .weight(let weight):
            offset = 0
            if let floats = weight.floatsInPlace {
                location = workspace.address(of: floats, keptBy: weight)
                (steps, reason) = ([], "float32 weight read where it is stored")
            } else {
                location = workspace.reserve(floats: weight.rows * weight.columns)
                steps = [weight.decoding(0..<weight.rows, to: location)]
                reason = "\(weight.encoding) weight decoded"
            }
        }
    }

    /// The elements, row-major, once the steps are done.
    var floats: UnsafePointer<Float>? {
        UnsafePointer(location.start.assumingMemoryBound(to: Float.self) + offset)
    }
}

/// The values that a convolution adds to each of its outputs' channels.
struct ChannelBias: Sendable {
    private let operand: OperandMemory?

    /// - Throws: `Unsuitable` for an operand that is not in contiguous memory.
    init(_ operand: OperandMemory?) throws(Unsuitable) {
        self.operand = operand
        if let operand, operand.contiguousFloats == nil { throw Unsuitable("reads the bias from contiguous memory") }
    }

    subscript(channel: Int) -> Float { operand?.contiguousFloats?[channel] ?? 0 }

    /// Adds its bias to each of `rows` rows of a product.
    func add(to target: UnsafeMutablePointer<Float>, stride: Int, rows: Range<Int>, columns: Int) {
        guard operand != nil else { return }
        for index in 0..<rows.count {
            let (row, value) = (target + index * stride, self[rows.lowerBound + index])
            for column in 0..<columns { row[column] += value }
        }
    }
}
