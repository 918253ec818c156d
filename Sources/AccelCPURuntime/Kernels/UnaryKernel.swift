import AccelPrograms
import AccelTensors
import CAccelKernels

/// Elementwise functions of one tensor.
struct UnaryKernel: Kernel {
    static let operators: [any Operator.Type] = [
        Cos.self, Exp.self, Gelu.self, LeakyRelu.self, Negate.self, Relu.self, Sigmoid.self, Silu.self, Sin.self,
        Sqrt.self, Tanh.self,
    ]
    private let source: OperandMemory
    private let target: OperandMemory
    private let function: @Sendable (UnsafeMutablePointer<Float>, Int) -> Void

    init(_ call: PreparedCall) throws(Unsuitable) {
        try call.requireContiguousFloats(call.inputs + call.outputs)
        (source, target) = (call.inputs[0], call.outputs[0])
        if let activation = Activation(fusing: call.operation) {
            function = { activation.apply(to: $0, count: $1) }
        } else if call.operation is Exp {
            function = { ck_exp($0, $1) }
        } else if call.operation is Sin {
            function = { ck_sin($0, $1) }
        } else if call.operation is Cos {
            function = { ck_cos($0, $1) }
        } else if let operation = call.operation as? LeakyRelu {
            let slope = Float(operation.slope)
            function = { values, count in
                for index in 0..<count where values[index] < 0 { values[index] *= slope }
            }
        } else if call.operation is Negate {
            function = { values, count in for index in 0..<count { values[index] = -values[index] } }
        } else if call.operation is Sqrt {
            function = { values, count in for index in 0..<count { values[index] = values[index].squareRoot() } }
        } else {
            throw Unsuitable("has no function for \(call.operation.name)")
        }
    }

    var steps: [KernelStep] {
        [
            .rows(source.shape.count, width: 1) { range in
                guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
                (target + range.lowerBound).update(from: source + range.lowerBound, count: range.count)
                function(target + range.lowerBound, range.count)
            }
        ]
    }
}
