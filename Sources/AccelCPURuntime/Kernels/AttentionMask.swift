import AccelPrograms
import AccelTensors
import CAccelKernels

/// The additive mask of an attention, broadcast to its scores.
struct AttentionMask: Sendable {
    private let memory: OperandMemory
    /// The strides of [batch, heads, rows, keys].
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

    /// Numbers from a row to the next one of the same head.
    var rowStride: Int { strides[2] }

    /// Returns the values for some keys, from those of the first of some rows on, where the values of a row follow each other; adds
    /// them to the scores, multiplied with `scale`, and returns nil, where they do not.
    func addScaled(
        _ scores: UnsafeMutablePointer<Float>, times scale: Float, _ rows: Range<Int>, _ keys: Range<Int>, batch: Int,
        head: Int
    ) -> UnsafePointer<Float>? {
        for row in rows {
            guard let own = self.row(row, batch: batch, head: head) else { return nil }
            if own.step == 1 { return own.start + keys.lowerBound }
            let scores = scores + (row - rows.lowerBound) * keys.count
            for key in keys {
                scores[key - keys.lowerBound] = scores[key - keys.lowerBound] * scale + own.start[key * own.step]
            }
        }
        return nil
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

        /// The keys that the row sees, with those between them; all if it sees none, because all have the same weight then.
        /// The lowest number swallows any score, so that a key with it has no weight where the row sees another.
        func seen(among keys: Int) -> Range<Int> {
            func isHidden(_ key: Int) -> Bool { start[key * step] <= -Float.greatestFiniteMagnitude }
            var (first, end) = (0, keys)
            while first < end, isHidden(first) { first += 1 }
            while end > first, isHidden(end - 1) { end -= 1 }
            return first < end ? first..<end : 0..<keys
        }
    }

    /// Converts the scores of some keys to weights: the softmax of their products with `scale`, plus their values in a row
    /// of the mask if there is one. The first score is that of the first key.
    static func softmax(
        of scores: UnsafeMutablePointer<Float>, times scale: Float, _ keys: Range<Int>, _ mask: Row?
    ) {
        guard let mask, mask.step != 1 else {
            return ck_softmax_scores(scores, keys.count, scale, mask.map { $0.start + keys.lowerBound })
        }
        let start = mask.start + keys.lowerBound * mask.step
        for key in 0..<keys.count { scores[key] = scores[key] * scale + start[key * mask.step] }
        ck_softmax(scores, keys.count, ck_cancellation())
    }
}
