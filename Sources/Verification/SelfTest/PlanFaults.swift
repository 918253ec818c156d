import Programs
import Tensors
import WeightCompression

/// A call reads another weight of the same shape.
struct WrongWeight: PlanFault {
    let name = "wrong weight"
    let detail = "a call reads another weight of the same shape"

    func inject(into function: CompiledFunction, weights: [CompressedTensor]) -> CompiledFunction? {
        func change(_ operand: Operand) -> Operand? {
            guard case .weight(let index) = operand.storage, weights.indices.contains(index),
                let other = weights.indices.last(where: {
                    $0 != index && weights[$0].shape == weights[index].shape && weights[$0].shape.count > 1
                        && weights[$0].elementType.isFloatingPoint && weights[index].elementType.isFloatingPoint
                })
            else { return nil }
            return Operand(storage: .weight(other), elementType: operand.elementType, layout: operand.layout)
        }
        return function.changingFirstInput(change)
    }
}

/// A call reads another intermediate value of the same shape: memory that was planned twice.
struct WrongValue: PlanFault {
    let name = "wrong value"
    let detail = "a call reads another value's memory"

    func inject(into function: CompiledFunction, weights: [CompressedTensor]) -> CompiledFunction? {
        var earlier: [Operand] = []
        for (index, call) in function.calls.enumerated() {
            for (position, operand) in call.inputs.enumerated() {
                guard case .arena = operand.storage, operand.elementType == .float32, operand.shape.count > 1,
                    let other = earlier.last(where: { $0.storage != operand.storage && $0.layout == operand.layout })
                else { continue }
                var changed = function
                changed.calls[index].inputs[position] = other
                return changed
            }
            earlier += call.outputs.filter { $0.elementType == .float32 }
        }
        return nil
    }
}

/// An activation was left off when it was fused.
struct LostActivation: PlanFault {
    let name = "lose an activation"
    let detail = "a fused activation is left off"

    func inject(into function: CompiledFunction, weights: [CompressedTensor]) -> CompiledFunction? {
        guard let index = function.calls.firstIndex(where: { ($0.operation as? Linear)?.activation ?? .none != .none })
        else { return nil }
        var changed = function
        changed.calls[index].operation = Linear()
        return changed
    }
}

extension CompiledFunction {
    /// The function with the first input changed that `change` has another one for.
    fileprivate func changingFirstInput(_ change: (Operand) -> Operand?) -> CompiledFunction? {
        for (index, call) in calls.enumerated() {
            for (position, operand) in call.inputs.enumerated() {
                guard let other = change(operand) else { continue }
                var changed = self
                changed.calls[index].inputs[position] = other
                return changed
            }
        }
        return nil
    }
}
