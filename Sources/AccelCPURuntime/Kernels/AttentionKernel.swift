import AccelPrograms
import AccelTensors
import CAccelKernels

/// Scaled dot-product attention, a block of query rows of one head at a time. Keys and values of float16, and rows of codes,
/// are widened where they are packed; the result has the bits of the same numbers in float32.
struct AttentionKernel: Kernel {
    static let operators: [any Operator.Type] = [Attention.self]
    static let readsStrided = true
    static let writesStrided = true
    private static let rowsAtOnce = 128
    private let (q, k, v): (OperandMemory, OperandMemory, OperandMemory)
    private let mask: AttentionMask?
    private let target: OperandMemory
    private let scale: Float

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
        scale = Float(operation.scale)
        mask = AttentionMask(call)
    }

    var cost: Double { 2 }
    var reason: String { "blocks of \(Self.rowsAtOnce) query rows by matrix products" }

    var steps: [KernelStep] {
        let width = Panels.width
        let blocks = (rows + Self.rowsAtOnce - 1) / Self.rowsAtOnce
        let keyPanels = (keys + width - 1) / width, valuePanels = (valueWidth + width - 1) / width
        let panelFloats = max(keyPanels * width * depth, valuePanels * width * keys)
        let pieces = q.shape.dimensions[0] * heads * blocks
        let rowFloats = k.elementType == .float32 ? 0 : width * depth
        return [
            KernelStep(pieces, scratchFloats: panelFloats + Self.rowsAtOnce * keys + rowFloats) { piece, panels in
                let block = piece % blocks * Self.rowsAtOnce
                run(
                    batch: piece / blocks / heads, head: piece / blocks % heads,
                    rows: block..<min(block + Self.rowsAtOnce, rows), panels: panels, scores: panels + panelFloats)
            }
        ]
    }

    private func run(
        batch: Int, head: Int, rows: Range<Int>, panels: UnsafeMutablePointer<Float>,
        scores: UnsafeMutablePointer<Float>
    ) {
        let keyHead = head / (heads / k.shape.dimensions[1])
        guard let q = start(self.q, batch, head, rows.lowerBound),
            let target = start(self.target, batch, head, rows.lowerBound)
        else { return }
        let (width, seen) = (Panels.width, seen(by: rows, batch: batch, head: head))
        let widened = scores + Self.rowsAtOnce * keys
        for key in stride(from: 0, to: seen.count, by: width) {
            let first = offset(k, batch, keyHead, seen.lowerBound + key)
            packKeys(from: first, min(width, seen.count - key), to: panels + key * depth, widened: widened)
        }
        ck_gemm_panels(
            q, self.q.layout.strides[2], rows.count, depth, panels, nil, scores, seen.count, seen.count)
        for row in 0..<rows.count {
            let mask = mask?.row(rows.lowerBound + row, batch: batch, head: head)
            AttentionMask.softmax(of: scores + row * seen.count, times: scale, seen, mask)
        }
        let firstValue = offset(v, batch, keyHead, seen.lowerBound)
        for column in stride(from: 0, to: valueWidth, by: width) {
            packValues(
                from: firstValue, seen.count, columns: column..<min(column + width, valueWidth),
                to: panels + column * seen.count)
        }
        ck_gemm_panels(
            scores, seen.count, rows.count, seen.count, panels, nil, target, self.target.layout.strides[2], valueWidth)
    }

    /// The keys that some of the rows see. The others, as those in the unused part of a cache, are not looked at.
    private func seen(by rows: Range<Int>, batch: Int, head: Int) -> Range<Int> {
        guard let mask else { return 0..<keys }
        var (first, end) = (keys, 0)
        for row in rows {
            let seen = mask.row(row, batch: batch, head: head)?.seen(among: keys) ?? 0..<keys
            (first, end) = (min(first, seen.lowerBound), max(end, seen.upperBound))
        }
        return first..<end
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
    /// Refuses a call of attention whose operands are not in memory, as float32 or, keys and values both, as float16 or rows
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
