import AccelPrograms
import AccelTensors
import CAccelKernels

/// Scaled dot-product attention without the matrix of scores: a block of query rows of one head meets the keys some at a time, and
/// earlier sums of values are scaled down where a larger score appears (flash attention). Keys and values of float16, and rows of
/// codes, are widened where they are packed; the result has the bits of the same numbers in float32.
struct AttentionKernel: Kernel {
    static let operators: [any Operator.Type] = [Attention.self]
    static let readsStrided = true
    static let writesStrided = true
    /// The scores of so many rows and keys, and the panels of the keys and of their values, stay in the second cache level.
    private static let (rowsAtOnce, keysAtOnce) = (256, 192)
    private let (q, k, v): (OperandMemory, OperandMemory, OperandMemory)
    private let mask: AttentionMask?
    private let target: OperandMemory
    private let scale: Float
    private let workspace: Workspace

    private var heads: Int { q.shape.dimensions[1] }
    private var rows: Int { q.shape.dimensions[2] }
    private var depth: Int { q.shape.dimensions[3] }
    private var keys: Int { k.shape.dimensions[2] }
    private var valueWidth: Int { target.shape.dimensions[3] }

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Attention else { throw Unsuitable("is for attention only") }
        try call.requireKeysInMemory()
        (q, k, v, target) = (call.inputs[0], call.inputs[1], call.inputs[2], call.outputs[0])
        // The matrix product strides over rows, not within them.
        for operand in [q, k, v, target] {
            try call.require(
                operand.layout.strides[3] == 1 || operand.shape.dimensions[3] == 1, "reads rows without gaps only")
        }
        (scale, workspace) = (Float(operation.scale), call.workspace)
        mask = AttentionMask(call)
    }

    var cost: Double { 2 }
    var reason: String { "blocks of \(Self.rowsAtOnce) query rows and \(Self.keysAtOnce) keys by matrix products" }

    var steps: [KernelStep] {
        let blocks = (rows + Self.rowsAtOnce - 1) / Self.rowsAtOnce
        let layout = Scratch(
            rows: min(rows, Self.rowsAtOnce), keys: min(keys, Self.keysAtOnce), depth: depth, valueWidth: valueWidth,
            isWidened: k.elementType != .float32)
        return [
            KernelStep(q.shape.dimensions[0] * heads * blocks, scratchFloats: layout.floats) { piece, memory in
                let block = piece % blocks * Self.rowsAtOnce
                run(
                    batch: piece / blocks / heads, head: piece / blocks % heads,
                    rows: block..<min(block + Self.rowsAtOnce, rows), layout, memory)
            }
        ]
    }

    /// The parts of a piece's scratch memory, in floats from its start.
    private struct Scratch {
        let keyPanels = 0
        let (valuePanels, scores, widened, states, seen, floats): (Int, Int, Int, Int, Int, Int)

        init(rows: Int, keys: Int, depth: Int, valueWidth: Int, isWidened: Bool) {
            func aligned(_ count: Int) -> Int { (count + 15) / 16 * 16 }
            let width = Panels.width
            valuePanels = aligned((keys + width - 1) / width * width * depth)
            scores = valuePanels + aligned((valueWidth + width - 1) / width * width * keys)
            widened = scores + aligned(rows * keys)
            states = widened + (isWidened ? aligned(width * depth) : 0)
            seen = states + aligned(rows * MemoryLayout<ck_softmax_row>.stride / 4)
            floats = seen + aligned(2 * rows)
        }
    }

    private func run(
        batch: Int, head: Int, rows: Range<Int>, _ layout: Scratch, _ memory: UnsafeMutablePointer<Float>
    ) {
        let keyHead = head / (heads / k.shape.dimensions[1])
        guard let q = start(self.q, batch, head, rows.lowerBound),
            let target = start(self.target, batch, head, rows.lowerBound)
        else { return }
        let (stride, targetStride) = (self.q.layout.strides[2], self.target.layout.strides[2])
        let states = UnsafeMutableRawPointer(memory + layout.states).assumingMemoryBound(to: ck_softmax_row.self)
        let seen = UnsafeMutableRawPointer(memory + layout.seen).assumingMemoryBound(to: SeenKeys.self)
        for row in 0..<rows.count {
            states[row] = ck_softmax_row(sum: 0, largest: -.infinity)
            (target + row * targetStride).update(repeating: 0, count: valueWidth)
            let own = mask?.row(rows.lowerBound + row, batch: batch, head: head)?.seen(among: keys) ?? 0..<keys
            seen[row] = SeenKeys(first: Int32(own.lowerBound), end: Int32(own.upperBound))
        }
        let all = seenKeys(of: 0..<rows.count, seen)
        for first in Swift.stride(from: all.lowerBound, to: all.upperBound, by: Self.keysAtOnce) {
            if workspace.isCancelled { return }
            let keys = first..<min(first + Self.keysAtOnce, all.upperBound)
            let part = rowsThatSee(keys, among: rows.count, seen)
            guard !part.isEmpty else { continue }
            let scores = memory + layout.scores
            pack(keys, batch: batch, head: keyHead, layout, memory)
            ck_gemm_panels(
                q + part.lowerBound * stride, stride, part.count, depth, memory + layout.keyPanels, nil, scores,
                keys.count, keys.count)
            let values = target + part.lowerBound * targetStride
            weigh(
                scores, rows.lowerBound + part.lowerBound..<rows.lowerBound + part.upperBound, keys, batch: batch,
                head: head, states + part.lowerBound, values)
            ck_gemm_panels_add(
                scores, keys.count, part.count, keys.count, memory + layout.valuePanels, values, targetStride,
                valueWidth)
        }
        ck_divide_by_weights(states, rows.count, target, targetStride, valueWidth)
    }

    /// Converts the scores of some rows and keys to weights, and scales the rows' earlier sums of values.
    private func weigh(
        _ scores: UnsafeMutablePointer<Float>, _ rows: Range<Int>, _ keys: Range<Int>, batch: Int, head: Int,
        _ states: UnsafeMutablePointer<ck_softmax_row>, _ values: UnsafeMutablePointer<Float>
    ) {
        let stride = target.layout.strides[2]
        var (factor, start, maskStride) = (scale, UnsafePointer<Float>?.none, 0)
        if let mask {
            start = mask.addScaled(scores, times: scale, rows, keys, batch: batch, head: head)
            if start == nil { factor = 1 }
            maskStride = mask.rowStride
        }
        ck_weigh_scores(scores, rows.count, keys.count, factor, start, maskStride, states, values, stride, valueWidth)
    }

    /// The keys that a row sees. The others, as those in the unused part of a cache, are not looked at.
    private struct SeenKeys {
        let first, end: Int32
    }

    /// The keys that some of the rows see, with those between them.
    private func seenKeys(of rows: Range<Int>, _ seen: UnsafePointer<SeenKeys>) -> Range<Int> {
        var (first, end) = (Int32(keys), Int32(0))
        for row in rows { (first, end) = (min(first, seen[row].first), max(end, seen[row].end)) }
        return first < end ? Int(first)..<Int(end) : 0..<0
    }

    /// The rows that see some of the keys, with those between them.
    private func rowsThatSee(_ keys: Range<Int>, among count: Int, _ seen: UnsafePointer<SeenKeys>) -> Range<Int> {
        func sees(_ row: Int) -> Bool { Int(seen[row].first) < keys.upperBound && Int(seen[row].end) > keys.lowerBound }
        var (first, end) = (0, count)
        while first < end, !sees(first) { first += 1 }
        while end > first, !sees(end - 1) { end -= 1 }
        return first..<end
    }

    /// Packs some keys and their values to panels.
    private func pack(
        _ keys: Range<Int>, batch: Int, head: Int, _ layout: Scratch, _ memory: UnsafeMutablePointer<Float>
    ) {
        let width = Panels.width
        for key in Swift.stride(from: 0, to: keys.count, by: width) {
            packKeys(
                from: offset(k, batch, head, keys.lowerBound + key), min(width, keys.count - key),
                to: memory + layout.keyPanels + key * depth, widened: memory + layout.widened)
        }
        let firstValue = offset(v, batch, head, keys.lowerBound)
        for column in Swift.stride(from: 0, to: valueWidth, by: width) {
            packValues(
                from: firstValue, keys.count, columns: column..<min(column + width, valueWidth),
                to: memory + layout.valuePanels + column * keys.count)
        }
    }

    /// Packs keys from the element `first` on into one panel.
    /// - Parameter widened: scratch memory for the keys of a panel, if they are not float32.
    private func packKeys(
        from first: Int, _ count: Int, to panel: UnsafeMutablePointer<Float>, widened: UnsafeMutablePointer<Float>
    ) {
        let stride = k.layout.strides[2]
        if let keys = k.floats { return ck_pack_panel(keys + first, stride, count, depth, panel) }
        for key in 0..<count {
            let target = widened + key * depth
            if let keys = k.halves {
                ck_f16_to_f32(keys + first + key * stride, target, depth)
            } else if let row = k.codes.map({ $0 + first + key * stride }) {
                ck_widen_codes(row, depth, ck_byte_row_scale(row, depth), target)
            }
        }
        ck_pack_panel(widened, depth, count, depth, panel)
    }

    /// Packs some columns of values into one panel.
    /// - Parameters:
    ///   - first: the element at which the first of `count` values starts.
    ///   - columns: the columns of all values.
    private func packValues(
        from first: Int, _ count: Int, columns: Range<Int>, to panel: UnsafeMutablePointer<Float>
    ) {
        let (stride, width) = (v.layout.strides[2], Panels.width)
        if let values = v.floats {
            return ck_pack_panel_transposed(values + first + columns.lowerBound, stride, columns.count, count, panel)
        }
        for row in 0..<count {
            let target = panel + row * width
            if let values = v.halves {
                ck_f16_to_f32(values + first + row * stride + columns.lowerBound, target, columns.count)
            } else if let row = v.codes.map({ $0 + first + row * stride }) {
                ck_widen_codes(
                    row + columns.lowerBound, columns.count, ck_byte_row_scale(row, valueWidth), target)
            }
            (target + columns.count).update(repeating: 0, count: width - columns.count)
        }
    }

    private func offset(_ operand: OperandMemory, _ batch: Int, _ head: Int, _ row: Int) -> Int {
        let strides = operand.layout.strides
        return batch * strides[0] + head * strides[1] + row * strides[2]
    }

    private func start(_ operand: OperandMemory, _ batch: Int, _ head: Int, _ row: Int)
        -> UnsafeMutablePointer<Float>?
    {
        operand.floats.map { $0 + offset(operand, batch, head, row) }
    }
}

extension PreparedCall {
    /// Rejects a call of attention whose operands are not in memory, as float32 or, keys and values both, as float16 or rows
    /// of codes.
    func requireKeysInMemory() throws(Unsuitable) {
        let others = inputs.indices.filter { $0 != 1 && $0 != 2 }.map { inputs[$0] } + outputs
        try require(others.allSatisfy { $0.floats != nil }, "reads no stored weight")
        let (k, v) = (inputs[1], inputs[2])
        try require(
            k.floats != nil && v.floats != nil || k.halves != nil && v.halves != nil
                || k.codes != nil && v.codes != nil,
            "reads no stored weight")
    }
}
