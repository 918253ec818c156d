import AccelByteIO
import AccelPrograms
import AccelTensors

/// The state elements that a run overwrites, so that a failed run can restore them.
///
/// An update in place keeps the block that it replaces, so a decode step costs one more copy of one token's keys and
/// values. The memory for it is allocated in advance.
final class StateJournal {
    private struct Entry {
        let call: Int
        let target: OperandMemory
        /// The part that the call writes, relative to the target's first element or the block's position.
        let rows: StridedRows
        /// For an update in place: the operand with the block's position, the elements between two positions, and the
        /// number of valid positions.
        let block: (position: OperandMemory, stride: Int, positions: Int)?
        /// Bytes from the start of the journal's memory.
        let start: Int
    }
    private var entries: [Entry] = []
    /// The offset of the saved elements from the target's first element; nil if nothing is saved.
    private var kept: [Int?] = []
    private let memory: ByteBuffer
    /// The entries of each call.
    private var byCall: [Range<Int>]

    /// - Parameter count: calls from this one on are not kept, since nothing fails after them.
    /// - Throws: `RequestError` (unavailable) without memory.
    init(_ calls: [PreparedCall], before count: Int) throws {
        byCall = []
        var bytes = 0
        for (index, call) in calls.enumerated() {
            let first = entries.count
            for output in call.outputs where index < count {
                guard case .state = output.operand.storage else { continue }
                let entry = Self.entry(of: output, by: call, number: index, at: bytes)
                entries.append(entry)
                bytes += (entry.rows.count * entry.rows.width * output.elementType.byteCount + 63) / 64 * 64
            }
            byCall.append(first..<entries.count)
        }
        kept = entries.map { _ in nil }
        memory = try ByteBuffer(allocating: bytes, for: "the states of a run that may fail")
    }

    private static func entry(of output: OperandMemory, by call: PreparedCall, number: Int, at start: Int) -> Entry {
        guard let update = call.operation as? UpdateSlice, call.inputs.count == 3,
            call.inputs[0].operand == output.operand, call.inputs[2].shape.count == 1
        else {
            return Entry(
                call: number, target: output, rows: output.rows(broadcastTo: output.shape), block: nil, start: start)
        }
        let block = call.inputs[1].shape
        let positions = output.shape.dimensions[update.axis] - block.dimensions[update.axis] + 1
        return Entry(
            call: number, target: output,
            rows: StridedRows(StridedLayout(shape: block, strides: output.layout.strides)),
            block: (call.inputs[2], output.layout.strides[update.axis], positions), start: start)
    }

    /// Saves the elements that a call is about to overwrite.
    func note(_ call: Int) {
        for index in byCall[call].lowerBound..<byCall[call].upperBound {
            let entry = entries[index]
            var offset = 0
            if let block = entry.block {
                // At an invalid position the call writes nothing and throws.
                guard let position = block.position.start(as: Int64.self)?.pointee, position >= 0,
                    position < Int64(block.positions)
                else { continue }
                offset = Int(position) * block.stride
            }
            kept[index] = offset
            copy(entry, offset, isUndone: false)
        }
    }

    /// Restores all saved elements, the last ones first.
    func undo() {
        for index in (0..<entries.count).reversed() {
            if let offset = kept[index] { copy(entries[index], offset, isUndone: true) }
        }
        forget()
    }

    /// Discards all saved elements after a successful run.
    func forget() {
        for index in 0..<kept.count { kept[index] = nil }
    }

    private func copy(_ entry: Entry, _ offset: Int, isUndone: Bool) {
        let (size, rows) = (entry.target.elementType.byteCount, entry.rows)
        guard let target = entry.target.bytes, let start = memory.bytes.baseAddress else { return }
        for row in 0..<rows.count {
            let state = target + (offset + rows.start(of: row)) * size
            let copy = start + entry.start + row * rows.width * size
            if rows.step == 1 {
                let (from, to) = isUndone ? (copy, state) : (state, copy)
                to.copyMemory(from: from, byteCount: rows.width * size)
                continue
            }
            for column in 0..<rows.width {
                let (state, copy) = (state + column * rows.step * size, copy + column * size)
                let (from, to) = isUndone ? (copy, state) : (state, copy)
                to.copyMemory(from: from, byteCount: size)
            }
        }
    }
}
