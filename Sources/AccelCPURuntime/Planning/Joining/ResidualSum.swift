import AccelPrograms
import AccelTensors

/// A product whose result is added to another value, as to a layer's input: the sum is made while the result is in the cache, and
/// replaces it.
enum ResidualSum: JoinRule {
    static func group(at index: Int, in planned: PlannedCalls) -> Range<Int>? {
        guard index + 1 < planned.calls.count else { return nil }
        let (product, sum) = (planned.calls[index], planned.calls[index + 1])
        guard product.operation is any LinearOperator, sum.operation is Add, let result = product.outputs.first,
            sum.inputs.count == 2, let reader = sum.inputs.firstIndex(where: { $0.home == result.home }),
            planned.isReadOnce(result)
        else { return nil }
        let (own, other) = (sum.inputs[reader], sum.inputs[1 - reader])
        let whole = [result, own, other] + sum.outputs
        guard whole.allSatisfy({ $0.elementType == .float32 && $0.layout.isContiguous && $0.layout.offset == 0 }),
            whole.allSatisfy({ $0.layout.shape.count == result.layout.shape.count })
        else { return nil }
        if case .weight = other.home { return nil }
        return index..<index + 2
    }

    /// Returns the index of the input that a call of a group adds to the result of the call before; nil if it is no such sum.
    static func residualIndex(of sum: KernelCall, after product: KernelCall) -> Int? {
        guard sum.operation is Add, sum.inputs.count == 2, let result = product.outputs.first,
            let reader = sum.inputs.firstIndex(where: { $0.storage == result.storage })
        else { return nil }
        return 1 - reader
    }
}
