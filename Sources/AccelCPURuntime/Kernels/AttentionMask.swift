import AccelPrograms
import AccelTensors

/// The additive mask of an attention, broadcast to its scores.
struct AttentionMask: Sendable {
    private let memory: OperandMemory
    /// Of [batch, heads, rows, keys].
    private let strides: [Int]

    /// nil for attention without a mask.
    init?(_ call: PreparedCall) {
        guard let memory = call.input("mask") else { return nil }
        self.memory = memory
        strides =
            memory.layout.expanded(
                to: Shape(Array(call.inputs[0].shape.dimensions[..<3]) + [call.inputs[1].shape.dimensions[2]])
            ).strides
    }

    func row(_ row: Int, batch: Int, head: Int) -> Row? {
        memory.floats.map {
            Row(start: UnsafePointer($0) + batch * strides[0] + head * strides[1] + row * strides[2], step: strides[3])
        }
    }

    /// The values that are added to the scores of one query row.
    struct Row {
        let start: UnsafePointer<Float>
        let step: Int

        /// The keys that the row sees, with those between them; empty if it sees none. The lowest number swallows any
        /// score, so that a key with it has no weight where the row sees another.
        func seen(among keys: Int) -> Range<Int> {
            func isHidden(_ key: Int) -> Bool { start[key * step] <= -Float.greatestFiniteMagnitude }
            var (first, end) = (0, keys)
            while first < end, isHidden(first) { first += 1 }
            while end > first, isHidden(end - 1) { end -= 1 }
            return first..<end
        }

        /// Adds the values of some keys to their scores; the first score is that of the first key.
        func add(to scores: UnsafeMutablePointer<Float>, _ keys: Range<Int>) {
            let start = start + keys.lowerBound * step
            if step == 1 {
                for key in 0..<keys.count { scores[key] += start[key] }
            } else {
                for key in 0..<keys.count { scores[key] += start[key * step] }
            }
        }
    }
}
