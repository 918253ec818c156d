import AccelPrograms
import AccelTensors
import CAccelKernels

/// Scaled dot-product attention, a block of query rows of one head at a time.
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
    private var valueWidth: Int { v.shape.dimensions[3] }

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Attention else { throw Unsuitable("is for attention only") }
        try call.require((call.inputs + call.outputs).allSatisfy { $0.floats != nil }, "reads no stored weight")
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
        let width = WeightPanels.width
        let blocks = (rows + Self.rowsAtOnce - 1) / Self.rowsAtOnce
        let keyPanels = (keys + width - 1) / width, valuePanels = (valueWidth + width - 1) / width
        let panelFloats = max(keyPanels * width * depth, valuePanels * width * keys)
        let pieces = q.shape.dimensions[0] * heads * blocks
        return [
            KernelStep(pieces, scratchFloats: panelFloats + Self.rowsAtOnce * keys) { piece, panels in
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
        guard let q = start(self.q, batch, head, rows.lowerBound), let k = start(self.k, batch, keyHead, 0),
            let v = start(self.v, batch, keyHead, 0), let target = start(self.target, batch, head, rows.lowerBound)
        else { return }
        let (width, seen) = (WeightPanels.width, seen(by: rows, batch: batch, head: head))
        let (keyStride, valueStride) = (self.k.layout.strides[2], self.v.layout.strides[2])
        for key in stride(from: 0, to: seen.count, by: width) {
            ck_pack_panel(
                k + (seen.lowerBound + key) * keyStride, keyStride, min(width, seen.count - key), depth,
                panels + key * depth)
        }
        ck_gemm_panels(
            q, self.q.layout.strides[2], rows.count, depth, panels, nil, scores, seen.count, seen.count)
        for row in 0..<rows.count {
            let mask = mask?.row(rows.lowerBound + row, batch: batch, head: head)
            AttentionMask.softmax(of: scores + row * seen.count, times: scale, seen, mask)
        }
        for column in stride(from: 0, to: valueWidth, by: width) {
            ck_pack_panel_transposed(
                v + seen.lowerBound * valueStride + column, valueStride, min(width, valueWidth - column), seen.count,
                panels + column * seen.count)
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

    private func start(_ operand: OperandMemory, _ batch: Int, _ head: Int, _ row: Int)
        -> UnsafeMutablePointer<Float>?
    {
        let strides = operand.layout.strides
        return operand.floats.map { $0 + batch * strides[0] + head * strides[1] + row * strides[2] }
    }
}
