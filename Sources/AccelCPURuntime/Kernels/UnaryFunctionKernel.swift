import AccelPrograms
import AccelTensors

/// Elementwise functions of one tensor without a vector form: in float64, rounded once.
struct UnaryFunctionKernel: Kernel {
    static let operators: [any Operator.Type] = [Elu.self, Erf.self, Floor.self, Log.self, Rsqrt.self]
    private let operation: any UnaryOperator
    private let source: OperandMemory
    private let target: OperandMemory

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? any UnaryOperator else {
            throw Unsuitable("is for functions of one value")
        }
        try call.requireContiguousFloats(call.inputs + call.outputs)
        self.operation = operation
        (source, target) = (call.inputs[0], call.outputs[0])
    }

    var reason: String { "element by element in float64" }
    var steps: [KernelStep] { [step(operation)] }

    private func step<Function: UnaryOperator>(_ function: Function) -> KernelStep {
        .rows(source.shape.count, width: 1, elements: 1 << 12) { range in
            guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
            for index in range { target[index] = Float(function.apply(Double(source[index]))) }
        }
    }
}
