import AccelPrograms
import AccelTensors
import CAccelKernels

/// Scaled dot-product attention of one query row, as in a step of one token: keys and values are read where they lie, once
/// for all heads that share them. Those of float16 are widened in registers; the result has the bits of the same numbers in
/// float32. Codes are widened in registers too, and the scale of a row multiplies its sum or its weight.
struct DecodeAttentionKernel: Kernel {
    static let operators: [any Operator.Type] = [Attention.self]
    static let readsStrided = true
    static let writesStrided = true
    private let (q, k, v): (OperandMemory, OperandMemory, OperandMemory)
    private let mask: AttentionMask?
    private let target: OperandMemory
    private let scale: Float
    private let workspace: Workspace

    private var heads: Int { q.shape.dimensions[1] }
    private var keyHeads: Int { k.shape.dimensions[1] }
    private var keys: Int { k.shape.dimensions[2] }

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Attention else { throw Unsuitable("is for attention only") }
        try call.require(
            call.inputs[0].shape.dimensions[2] == 1, "takes one query row, not \(call.inputs[0].shape.dimensions[2])")
        try call.requireKeysInMemory()
        (q, k, v, target) = (call.inputs[0], call.inputs[1], call.inputs[2], call.outputs[0])
        workspace = call.workspace
        for operand in [q, k, v, target] {
            try call.require(
                operand.layout.strides[3] == 1 || operand.shape.dimensions[3] == 1, "reads rows without gaps only")
        }
        scale = Float(operation.scale)
        mask = AttentionMask(call)
    }

    var reason: String { "one query row; keys and values are read where they lie" }

    var steps: [KernelStep] {
        let (heads, group) = (heads, max(heads / max(keyHeads, 1), 1))
        // Pieces that follow each other share keys and values, which then lie in a cache.
        return [
            KernelStep(q.shape.dimensions[0] * heads, scratchFloats: keys) { piece, scores in
                let head = piece % heads
                run(batch: piece / heads, head: head, keyHead: head / group, scores: scores)
            }
        ]
    }

    private func run(batch: Int, head: Int, keyHead: Int, scores: UnsafeMutablePointer<Float>) {
        func offset(_ operand: OperandMemory, _ head: Int) -> Int {
            batch * operand.layout.strides[0] + head * operand.layout.strides[1]
        }
        guard let q = self.q.floats, let target = self.target.floats else { return }
        let mask = mask?.row(0, batch: batch, head: head)
        let seen = mask?.seen(among: keys) ?? 0..<keys
        let (keyStride, valueStride) = (self.k.layout.strides[2], self.v.layout.strides[2])
        let (query, result) = (q + offset(self.q, head), target + offset(self.target, head))
        let firstKey = offset(k, keyHead) + seen.lowerBound * keyStride
        let firstValue = offset(v, keyHead) + seen.lowerBound * valueStride
        let (depth, valueWidth) = (self.q.shape.dimensions[3], self.target.shape.dimensions[3])
        if let keys = k.halves, let values = v.halves {
            ck_dot_halves(query, keys + firstKey, CK_F16, keyStride, seen.count, depth, scores)
            if workspace.isCancelled { return }
            AttentionMask.softmax(of: scores, times: scale, seen, mask)
            ck_weighted_sum_halves(scores, values + firstValue, valueStride, seen.count, valueWidth, result)
        } else if let keys = k.codes, let values = v.codes {
            ck_dot_byte_rows(query, keys + firstKey, keyStride, seen.count, depth, scores)
            if workspace.isCancelled { return }
            AttentionMask.softmax(of: scores, times: scale, seen, mask)
            ck_weighted_sum_byte_rows(scores, values + firstValue, valueStride, seen.count, valueWidth, result)
        } else if let keys = k.floats, let values = v.floats {
            ck_dot(query, keys + firstKey, keyStride, seen.count, depth, scores)
            if workspace.isCancelled { return }
            AttentionMask.softmax(of: scores, times: scale, seen, mask)
            ck_weighted_sum(scores, values + firstValue, valueStride, seen.count, valueWidth, result)
        }
    }
}
