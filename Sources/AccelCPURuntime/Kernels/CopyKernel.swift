import AccelPrograms
import AccelTensors

/// A tensor of any layout into contiguous memory.
struct CopyKernel: Kernel {
    static let operators: [any Operator.Type] = [Copy.self]
    private let source: OperandMemory
    private let target: OperandMemory

    init?(_ call: PreparedCall) {
        guard call.inputs.count == 1, call.outputs[0].layout.isContiguous else { return nil }
        guard case .memory = call.inputs[0].place else { return nil }
        (source, target) = (call.inputs[0], call.outputs[0])
    }

    func run(on workers: Workers) {
        switch source.operand.elementType.byteCount {
        case 8: copy(UInt64.self, on: workers)
        case 4: copy(UInt32.self, on: workers)
        default: copy(UInt8.self, on: workers)
        }
    }

    private func copy<Element: BitwiseCopyable & Sendable>(_ type: Element.Type, on workers: Workers) {
        let rows = StridedRows(source.layout)
        let rowsAtOnce = max(1, (1 << 13) / max(rows.width, 1))
        workers.forEach((rows.count + rowsAtOnce - 1) / rowsAtOnce) { piece, _ in
            guard case .memory(let from) = source.place, case .memory(let to) = target.place else { return }
            let source = from.assumingMemoryBound(to: Element.self)
            let target = to.assumingMemoryBound(to: Element.self) + target.layout.offset
            for row in piece * rowsAtOnce..<min((piece + 1) * rowsAtOnce, rows.count) {
                let (from, to) = (source + rows.start(of: row), target + row * rows.width)
                if rows.step == 1 {
                    to.update(from: from, count: rows.width)
                } else {
                    for column in 0..<rows.width { to[column] = from[column * rows.step] }
                }
            }
        }
    }
}
