import AccelPrograms
import AccelTensors

/// Comparisons of two tensors that broadcast.
struct CompareKernel: Kernel {
    static let operators: [any Operator.Type] = [Compare.self]
    static let readsStrided = true
    private let relation: Compare.Relation
    private let (x, y, target): (OperandMemory, OperandMemory, OperandMemory)
    private let (xRows, yRows): (StridedRows, StridedRows)

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Compare else { throw Unsuitable("is for compare only") }
        try call.require(call.inputs.allSatisfy(\.isInMemory), "reads no stored weight")
        try call.require(call.outputs[0].layout.isContiguous, "writes contiguous memory only")
        relation = operation.relation
        (x, y, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        (xRows, yRows) = (x.rows(broadcastTo: target.shape), y.rows(broadcastTo: target.shape))
    }

    var reason: String { "operands in memory, of any strides" }

    var steps: [KernelStep] {
        x.elementType == .int64 ? [comparing(Int64.self)] : [comparing(Float.self)]
    }

    private func comparing<Element: Comparable & BitwiseCopyable & Sendable>(_ type: Element.Type) -> KernelStep {
        switch relation {
        case .equal: step { (x: Element, y: Element) in x == y }
        case .notEqual: step { (x: Element, y: Element) in x != y }
        case .less: step { (x: Element, y: Element) in x < y }
        case .lessOrEqual: step { (x: Element, y: Element) in x <= y }
        case .greater: step { (x: Element, y: Element) in x > y }
        case .greaterOrEqual: step { (x: Element, y: Element) in x >= y }
        }
    }

    private func step<Element: BitwiseCopyable & Sendable>(
        _ holds: @escaping @Sendable (Element, Element) -> Bool
    ) -> KernelStep {
        let width = xRows.width
        return .blocks(xRows.count, width: width) { rows, columns in
            guard let x = x.start(as: Element.self), let y = y.start(as: Element.self),
                let target = target.start(as: UInt8.self)
            else { return }
            for row in rows {
                let (a, b, out) = (x + xRows.start(of: row), y + yRows.start(of: row), target + row * width)
                for column in columns {
                    out[column] = holds(a[column * xRows.step], b[column * yRows.step]) ? 1 : 0
                }
            }
        }
    }
}
