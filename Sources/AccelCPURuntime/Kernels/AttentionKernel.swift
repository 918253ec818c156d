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
    /// With its strides broadcast to [batch, heads, rows, keys].
    private let mask: (memory: OperandMemory, strides: [Int])?
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
        let scores = Shape(Array(q.shape.dimensions[..<3]) + [k.shape.dimensions[2]])
        mask = call.input("mask").map { ($0, $0.layout.expanded(to: scores).strides) }
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
        let width = WeightPanels.width
        for key in stride(from: 0, to: keys, by: width) {
            let count = min(width, keys - key)
            let stride = self.k.layout.strides[2]
            ck_pack_panel(k + key * stride, stride, count, depth, panels)
            ck_gemm_panel(
                q, self.q.layout.strides[2], rows.count, depth, panels, nil, scores + key, keys, count)
        }
        let (keys, scale) = (keys, scale)
        let mask = self.mask.flatMap { mask in
            mask.memory.floats.map { start in
                (
                    start: start + batch * mask.strides[0] + head * mask.strides[1], row: mask.strides[2],
                    step: mask.strides[3]
                )
            }
        }
        for row in 0..<rows.count {
            let line = scores + row * keys
            for key in 0..<keys { line[key] *= scale }
            if let mask {
                let start = mask.start + (rows.lowerBound + row) * mask.row
                if mask.step == 1 {
                    for key in 0..<keys { line[key] += start[key] }
                } else {
                    for key in 0..<keys { line[key] += start[key * mask.step] }
                }
            }
            ck_softmax(line, keys)
        }
        for column in stride(from: 0, to: valueWidth, by: width) {
            let count = min(width, valueWidth - column)
            ck_pack_panel_transposed(v + column, self.v.layout.strides[2], count, keys, panels)
            ck_gemm_panel(
                scores, keys, rows.count, keys, panels, nil, target + column, self.target.layout.strides[2], count)
        }
    }

    private func start(_ operand: OperandMemory, _ batch: Int, _ head: Int, _ row: Int)
        -> UnsafeMutablePointer<Float>?
    {
        let strides = operand.layout.strides
        return operand.floats.map { $0 + batch * strides[0] + head * strides[1] + row * strides[2] }
    }
}
