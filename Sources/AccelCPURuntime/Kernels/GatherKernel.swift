import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Rows of a float32 table by index; of a stored weight, only the rows asked for are decoded.
struct GatherKernel: Kernel {
    static let operators: [any Operator.Type] = [Gather.self]
    private let table: OperandMemory
    private let indices: OperandMemory
    private let target: OperandMemory
    private let width: Int

    init?(_ call: PreparedCall) {
        guard call.inputs.count == 2, call.inputs[0].operand.elementType == .float32,
            call.inputs[0].layout.isContiguous, call.inputs[1].layout.isContiguous,
            call.outputs[0].contiguousFloats != nil, case .memory = call.inputs[1].place
        else { return nil }
        (table, indices, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        width = table.shape.dimensions.dropFirst().reduce(1, *)
        // A vector is one row to a codec.
        if case .weight = table.place, table.shape.rank < 2 { return nil }
    }

    func run(on workers: Workers) throws {
        guard case .memory(let start) = indices.place, let target = target.contiguousFloats else { return }
        let count = indices.shape.count
        let index = start.assumingMemoryBound(to: Int64.self) + indices.layout.offset
        let limit = table.shape.dimensions[0]
        for position in 0..<count where index[position] < 0 || index[position] >= limit {
            throw OperatorError(
                "index \(index[position]) (element \(position) of the indices) is outside of the table's \(limit) rows"
            )
        }
        nonisolated(unsafe) let (from, to) = (UnsafePointer(index), target)
        let rowsAtOnce = max(1, (1 << 13) / max(width, 1))
        workers.forEach((count + rowsAtOnce - 1) / rowsAtOnce) { piece, _ in
            for position in piece * rowsAtOnce..<min((piece + 1) * rowsAtOnce, count) {
                let row = Int(from[position])
                switch table.place {
                case .weight(let weight):
                    weight.codec.decode(
                        row..<row + 1, of: weight,
                        into: UnsafeMutableBufferPointer(start: to + position * width, count: width))
                case .memory:
                    guard let floats = table.contiguousFloats else { continue }
                    (to + position * width).update(from: floats + row * width, count: width)
                }
            }
        }
    }
}
