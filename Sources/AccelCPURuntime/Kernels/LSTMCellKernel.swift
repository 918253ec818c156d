import AccelPrograms
import AccelTensors

/// One step of a long short-term memory, with dot products in float64.
struct LSTMCellKernel: Kernel {
    static let operators: [any Operator.Type] = [LSTMCell.self]
    private let inputs: [OperandMemory]
    private let target: OperandMemory
    private let (batch, columns, width): (Int, Int, Int)

    init(_ call: PreparedCall) throws(Unsuitable) {
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (inputs, target) = (call.inputs, call.outputs[0])
        (batch, columns) = (inputs[0].shape.dimensions[0], inputs[0].shape.dimensions[1])
        width = inputs[1].shape.dimensions[2]
    }

    var reason: String { "products in float64" }

    var steps: [KernelStep] {
        let (batch, columns, width) = (batch, columns, width)
        return [
            .rows(batch * width, width: 4 * (columns + width)) { elements in
                guard let x = inputs[0].contiguousFloats, let state = inputs[1].contiguousFloats,
                    let target = target.contiguousFloats
                else { return }
                for element in elements {
                    let (row, unit) = (element / width, element % width)
                    let kept = Sigmoid().apply(gate(1, row, unit, x, state)) * Double(state[batch * width + element])
                    let cell =
                        kept + Sigmoid().apply(gate(0, row, unit, x, state))
                        * Tanh().apply(gate(2, row, unit, x, state))
                    target[batch * width + element] = Float(cell)
                    target[element] = Float(Sigmoid().apply(gate(3, row, unit, x, state)) * Tanh().apply(cell))
                }
            }
        ]
    }

    /// The input of a gate's activation.
    private func gate(
        _ number: Int, _ row: Int, _ unit: Int, _ x: UnsafePointer<Float>, _ state: UnsafePointer<Float>
    ) -> Double {
        let index = number * width + unit
        var sum = 0.0
        for element in 4..<max(inputs.count, 4) { sum += Double(inputs[element].contiguousFloats?[index] ?? 0) }
        sum += dot(x + row * columns, inputs[2], row: index, columns)
        return sum + dot(state + row * width, inputs[3], row: index, width)
    }

    private func dot(_ x: UnsafePointer<Float>, _ weight: OperandMemory, row: Int, _ count: Int) -> Double {
        guard let weight = weight.contiguousFloats else { return 0 }
        return Reference.dot(
            UnsafeBufferPointer(start: x, count: count), 0,
            UnsafeBufferPointer(start: weight + row * count, count: count), 0, count)
    }
}
