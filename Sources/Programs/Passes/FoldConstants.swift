import ByteIO
import Tensors

/// Computes at compile time what depends on tables only. Weights are not folded: functions share them, and a recipe
/// stores them compressed.
public enum FoldConstants: ProgramPass {
    public static let name = "fold-constants"

    /// - Throws: `RequestError` (unavailable) when the tables would not fit into memory, before they are made.
    public static func run(_ program: Program) throws -> Program {
        var made = 0
        return try program.rewriting { node, inputs, builder in
            let tables = inputs.compactMap { builder.table($0) }
            guard tables.count == inputs.count else { return nil }
            let results = MachineMemory.sum(node.outputs.map { program.type(of: $0).hostBytes })
            // A table is made as numbers, and kept as bytes.
            let work = MachineMemory.sum(
                [results, results] + tables.map { TensorType($0.elementType, shape: $0.shape).hostBytes })
            try MachineMemory.require(
                MachineMemory.sum([made, work]), for: "folding the tables of \(program.name) up to \"\(node.label)\"")
            made = MachineMemory.sum([made, results])
            return try node.operation.evaluate(tables.map(HostTensor.init)).map {
                builder.literal($0, name: node.label)
            }
        }
    }
}
