import AccelPrograms
import AccelTensors

/// Rows of a table by index; of a stored weight, only the rows asked for are decoded.
struct GatherKernel: Kernel {
    static let operators: [any Operator.Type] = [Gather.self]
    private let table: OperandMemory
    private let indices: OperandMemory
    private let target: OperandMemory
    private let width: Int

    init(_ call: PreparedCall) throws(Unsuitable) {
        (table, indices, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        try call.require(
            (call.inputs + call.outputs).allSatisfy(\.layout.isContiguous), "reads no strided operand")
        width = table.shape.dimensions.dropFirst().reduce(1, *)
    }

    var reason: String {
        guard let weight = table.storedWeight else { return "rows copied" }
        return "\(weight.encoding) rows decoded by index"
    }

    var check: (@Sendable () throws -> Void)? {
        let (count, limit) = (indices.shape.count, table.shape.dimensions[0])
        return {
            guard let index = indices.start(as: Int64.self) else { return }
            for position in 0..<count where index[position] < 0 || index[position] >= limit {
                throw OperatorError(
                    "index \(index[position]) (element \(position) of the indices) is outside of the table's \(limit) rows"
                )
            }
        }
    }

    var steps: [KernelStep] {
        let (count, width) = (indices.shape.count, width)
        if let weight = table.storedWeight {
            let rowsAtOnce = max(1, (1 << 13) / max(width, 1))
            let pieces = (count + rowsAtOnce - 1) / rowsAtOnce
            return [
                KernelStep(pieces, scratchFloats: weight.scratchFloats(rows: 1)) { piece, scratch in
                    guard let index = indices.start(as: Int64.self), let target = target.contiguousFloats else {
                        return
                    }
                    for position in piece * rowsAtOnce..<min((piece + 1) * rowsAtOnce, count) {
                        let row = Int(index[position])
                        weight.decode(row..<row + 1, into: target + position * width, scratch: scratch)
                    }
                }
            ]
        }
        let bytes = width * table.elementType.byteCount
        return [
            .blocks(count, width: bytes, elements: 1 << 15) { positions, part in
                guard let index = indices.start(as: Int64.self), let tableStart = table.bytes, let start = target.bytes
                else { return }
                for position in positions {
                    (start + position * bytes + part.lowerBound).copyMemory(
                        from: tableStart + Int(index[position]) * bytes + part.lowerBound, byteCount: part.count)
                }
            }
        ]
    }
}
