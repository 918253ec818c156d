import AccelPrograms
import AccelTensors
import CAccelKernels

/// A long short-term memory over a sequence: one product of the state with its weight for each step.
struct LSTMKernel: Kernel {
    static let operators: [any Operator.Type] = [LSTM.self]
    private let gates: OperandMemory
    private let weight: WholeWeight
    private let bias: OperandMemory?
    private let length: OperandMemory?
    private let target: OperandMemory
    private let reverses: Bool
    private let (batch, count, width): (Int, Int, Int)
    private let workspace: Workspace

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? LSTM else { throw Unsuitable("is for lstm only") }
        (gates, target, workspace) = (call.inputs[0], call.outputs[0], call.workspace)
        (bias, length, reverses) = (call.input("bias"), call.input("length"), operation.reverses)
        try call.requireContiguousFloats([gates, target] + [bias].compactMap { $0 })
        try call.require(length?.layout.isContiguous ?? true, "reads contiguous lengths only")
        weight = try WholeWeight(call.inputs[1], in: workspace)
        (batch, count) = (target.shape.dimensions[0], target.shape.dimensions[1])
        width = target.shape.dimensions[2]
    }

    var reason: String { weight.reason }

    var check: (@Sendable () throws -> Void)? {
        guard let length else { return nil }
        return { [count, numbers = length.shape.count] in
            guard let lengths = length.start(as: Int64.self) else { return }
            for index in 0..<numbers where lengths[index] < 0 || lengths[index] > count {
                throw OperatorError("expected 0 to \(count) valid steps, found \(lengths[index])")
            }
        }
    }

    var steps: [KernelStep] {
        weight.steps + [
            // The sums of the gates, and the cells.
            KernelStep(batch, scratchFloats: 5 * width) { [self] row, scratch in
                guard let gates = gates.contiguousFloats, let target = target.contiguousFloats,
                    let weight = weight.floats
                else { return }
                let lengths = length?.start(as: Int64.self)
                let valid = lengths.map { Int($0[length?.shape.count == 1 ? 0 : row]) } ?? count
                let (sums, cells) = (scratch, scratch + 4 * width)
                for unit in 0..<width { cells[unit] = 0 }
                for index in 0..<valid {
                    if workspace.isCancelled { return }
                    let position = row * count + (reverses ? valid - 1 - index : index)
                    if index == 0 {
                        for gate in 0..<4 * width { sums[gate] = 0 }
                    } else {
                        let previous = target + (reverses ? position + 1 : position - 1) * width
                        ck_dot(previous, weight, width, 4 * width, width, sums)
                    }
                    advance(sums, cells, gates + position * 4 * width, into: target + position * width)
                }
                workspace.forEachPart(of: (count - valid) * width) { rest in
                    for element in rest { target[(row * count + valid) * width + element] = 0 }
                }
            }
        ]
    }

    /// Takes a step: adds the gates to the products of the state, and applies them.
    private func advance(
        _ sums: UnsafeMutablePointer<Float>, _ cells: UnsafeMutablePointer<Float>, _ gates: UnsafePointer<Float>,
        into target: UnsafeMutablePointer<Float>
    ) {
        for gate in 0..<4 * width { sums[gate] += gates[gate] }
        if let bias = bias?.contiguousFloats {
            for gate in 0..<4 * width { sums[gate] += bias[gate] }
        }
        for unit in 0..<width {
            let kept = Sigmoid().apply(Double(sums[width + unit])) * Double(cells[unit])
            let added = Sigmoid().apply(Double(sums[unit])) * Tanh().apply(Double(sums[2 * width + unit]))
            cells[unit] = Float(kept + added)
            let output = Sigmoid().apply(Double(sums[3 * width + unit])) * Tanh().apply(Double(cells[unit]))
            target[unit] = Float(output)
        }
    }
}
