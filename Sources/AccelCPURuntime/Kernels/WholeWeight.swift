import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import CAccelKernels

/// A float32 operand whose elements a kernel wants all at once: in memory, or a stored weight that is decoded for it.
struct WholeWeight: Sendable {
    private let operand: OperandMemory

    /// Nil unless the operand's elements follow each other.
    init?(_ operand: OperandMemory) {
        guard operand.operand.elementType == .float32, operand.layout.isContiguous, operand.layout.offset == 0 else {
            return nil
        }
        self.operand = operand
    }

    /// Bytes that a call decodes its weight to at most, while it runs: a transposed convolution orders it anew besides.
    static func byteCount(for call: KernelCall, _ weights: [CompressedTensor]) -> Int {
        guard call.operation is Conv || call.operation is ConvTranspose, call.inputs.count > 1,
            case .weight(let index) = call.inputs[1].storage, weights.indices.contains(index)
        else { return 0 }
        let copies = call.operation is ConvTranspose ? 2 : 1
        return Shape(weights[index].shape.dimensions + [copies, MemoryLayout<Float>.stride]).checkedCount ?? .max
    }

    /// Calls `body` with the elements, row-major.
    func withFloats(on workers: Workers, _ body: (UnsafePointer<Float>) -> Void) {
        if let floats = operand.contiguousFloats { return body(floats) }
        guard case .weight(let stored) = operand.place else { return }
        if Self.inPlace(stored, body) { return }
        let (rows, columns) = (stored.shape.rows, stored.shape.columns)
        let decoded = ByteBuffer(count: max(1, rows * columns) * MemoryLayout<Float>.stride)
        guard let start = decoded.bytes.baseAddress?.assumingMemoryBound(to: Float.self) else { return }
        // Each piece writes rows of its own.
        nonisolated(unsafe) let target = start
        workers.forEachRows(rows, width: columns, elements: 1 << 14) { range in
            stored.codec.decode(
                range, of: stored,
                into: UnsafeMutableBufferPointer(
                    start: target + range.lowerBound * columns, count: range.count * columns))
        }
        body(start)
        withExtendedLifetime(decoded) {}
    }

    /// A weight stored as float32 is read where it lies; false when it is not, or not aligned.
    private static func inPlace(_ weight: CompressedTensor, _ body: (UnsafePointer<Float>) -> Void) -> Bool {
        guard weight.codec is Float32Codec || (weight.codec is StoredCodec && weight.elementType == .float32),
            let section = weight.sections.first
        else { return false }
        return section.withBytes { bytes in
            guard let start = bytes.baseAddress, Int(bitPattern: start) % MemoryLayout<Float>.alignment == 0 else {
                return false
            }
            body(start.assumingMemoryBound(to: Float.self))
            return true
        }
    }
}

/// The values that a convolution adds to each of its outputs' channels.
struct ChannelBias: Sendable {
    private let operand: OperandMemory?
    private let stored: [Float]

    /// Nil for an operand that is neither in contiguous memory nor stored.
    init?(_ operand: OperandMemory?) {
        self.operand = operand
        guard let operand else {
            stored = []
            return
        }
        switch operand.place {
        case .memory:
            guard operand.contiguousFloats != nil else { return nil }
            stored = []
        case .weight(let weight): stored = weight.floats()
        }
    }

    subscript(channel: Int) -> Float {
        stored.isEmpty ? operand?.contiguousFloats?[channel] ?? 0 : stored[channel]
    }

    /// Adds its bias to each of `rows` rows of a product.
    func add(to target: UnsafeMutablePointer<Float>, stride: Int, rows: Range<Int>, columns: Int) {
        guard operand != nil else { return }
        for (index, channel) in rows.enumerated() {
            let (row, value) = (target + index * stride, self[channel])
            for column in 0..<columns { row[column] += value }
        }
    }
}
