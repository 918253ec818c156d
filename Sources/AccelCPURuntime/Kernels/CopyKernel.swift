import AccelPrograms
import AccelTensors

/// A tensor of any layout into memory of any layout.
struct CopyKernel: Kernel {
    static let operators: [any Operator.Type] = [Copy.self]
    static let readsStrided = true
    private let source: OperandMemory
    private let target: OperandMemory

    init(_ call: PreparedCall) throws(Unsuitable) {
        try call.require(call.inputs[0].isInMemory, "reads no stored weight")
        (source, target) = (call.inputs[0], call.outputs[0])
    }

    var reason: String { "elements copied, of any strides" }
    var steps: [KernelStep] { [Self.step(from: source, to: target)] }

    /// Copies elements in row-major order; both operands lie in memory and have as many.
    static func step(from source: OperandMemory, to target: OperandMemory) -> KernelStep {
        switch source.elementType.byteCount {
        case 8: step(UInt64.self, from: source, to: target)
        case 4: step(UInt32.self, from: source, to: target)
        case 2: step(UInt16.self, from: source, to: target)
        default: step(UInt8.self, from: source, to: target)
        }
    }

    private static func step<Element: BitwiseCopyable & Sendable>(
        _ type: Element.Type, from source: OperandMemory, to target: OperandMemory
    ) -> KernelStep {
        let (rows, targetRows) = (source.rows(broadcastTo: target.shape), target.rows(broadcastTo: target.shape))
        return .blocks(rows.count, width: rows.width) { range, columns in
            guard let from = source.start(as: Element.self), let to = target.start(as: Element.self) else { return }
            for row in range {
                let (from, to) = (from + rows.start(of: row), to + targetRows.start(of: row))
                if rows.step == 1, targetRows.step == 1 {
                    (to + columns.lowerBound).update(from: from + columns.lowerBound, count: columns.count)
                } else {
                    for column in columns { to[column * targetRows.step] = from[column * rows.step] }
                }
            }
        }
    }
}
