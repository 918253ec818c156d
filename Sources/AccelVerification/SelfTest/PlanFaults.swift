import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension PlanFault {
    /// A call reads another weight of the same shape.
    static let wrongWeight = PlanFault(name: "wrong weight", detail: "a call reads another weight of the same shape") {
        function, weights in
        func change(_ operand: Operand) -> Operand? {
            guard case .weight(let index) = operand.storage, weights.indices.contains(index),
                let other = weights.indices.last(where: {
                    $0 != index && weights[$0].shape == weights[index].shape && weights[$0].shape.count > 1
                        && weights[$0].elementType.isFloatingPoint && weights[index].elementType.isFloatingPoint
                })
            else { return nil }
            return Operand(storage: .weight(other), elementType: operand.elementType, layout: operand.layout)
        }
        return function.changingInputs { _, operand in change(operand) }
    }

    /// A call reads another intermediate value of the same shape, as if the memory plan used the same bytes twice.
    static let wrongValue = PlanFault(name: "wrong value", detail: "a call reads another value's memory") {
        function, _ in
        let earlier = function.calls.map { $0.outputs.filter { $0.elementType == .float32 } }
        return function.changingInputs { call, operand in
            guard case .arena = operand.storage, operand.elementType == .float32, operand.shape.count > 1 else {
                return nil
            }
            return earlier[..<call].joined().last { $0.storage != operand.storage && $0.layout == operand.layout }
        }
    }

    /// A fused activation is lost.
    static let lostActivation = PlanFault(name: "lose an activation", detail: "a fused activation is left off") {
        function, _ in
        function.calls.indices.compactMap { index in
            guard var linear = function.calls[index].operation as? any LinearOperator, linear.activation != .none else {
                return nil
            }
            linear.activation = .none
            var changed = function
            changed.calls[index].operation = linear
            return changed
        }
    }

    /// Activations are rounded that should not be, or the other way round.
    static let changedRounding = PlanFault(
        name: "change a rounding", detail: "a linear operator rounds its activations, or does not, unlike the model's"
    ) { function, _ in
        function.calls.indices.compactMap { index in
            guard let linear = function.calls[index].operation as? any LinearOperator else { return nil }
            var changed = function
            changed.calls[index].operation =
                linear is QuantizedLinear
                ? Linear(activation: linear.activation) : QuantizedLinear(activation: linear.activation)
            return changed
        }
    }

    /// Activations are rounded to other numbers than the model's: to bfloat16 in place of 8 bits, or the other way round.
    static let otherRounding = PlanFault(
        name: "round to other numbers",
        detail: "a linear operator rounds its activations to bfloat16 in place of 8 bits, or the other way round"
    ) { function, _ in
        function.calls.indices.compactMap { index in
            guard var linear = function.calls[index].operation as? QuantizedLinear else { return nil }
            linear.rounding = linear.rounding == .bfloat16 ? .rows : .bfloat16
            var changed = function
            changed.calls[index].operation = linear
            return changed
        }
    }
}

extension FunctionPlan {
    /// Returns the function with one input changed, for each input that `change` replaces.
    fileprivate func changingInputs(_ change: (_ call: Int, Operand) -> Operand?) -> [FunctionPlan] {
        calls.enumerated().flatMap { index, call in
            call.inputs.enumerated().compactMap { position, operand in
                guard let other = change(index, operand) else { return nil }
                var changed = self
                changed.calls[index].inputs[position] = other
                return changed
            }
        }
    }
}
