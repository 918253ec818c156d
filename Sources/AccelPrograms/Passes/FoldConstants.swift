import AccelByteIO
import AccelTensors

/// Folds nodes whose inputs are all tables. Weights are not folded: functions share them, and a recipe compresses them.
public enum FoldConstants: ProgramPass {
    public static let name = "fold-constants"

    /// - Throws: `RequestError` (unavailable) if the tables would not fit into memory; checked before any is computed.
    public static func run(_ program: Program) throws -> Program {
        try requireMemory(for: program)
        return try program.rewriting { node, inputs, builder in
            let tables = inputs.compactMap { builder.table($0) }
            // A constant reads as F32, I64 or BOOL.
            let isNarrow = node.outputs.contains { program.type(of: $0).elementType.isNarrowStateType }
            guard tables.count == inputs.count, !isNarrow else { return nil }
            return try node.operation.evaluate(tables.map(HostTensor.init)).map {
                builder.literal($0, name: node.label)
            }
        }
    }

    private static func requireMemory(for program: Program) throws {
        var tables = Set(program.constants.filter { !$0.isWeight }.map(\.value))
        var made = 0
        for node in program.nodes where node.inputs.allSatisfy(tables.contains) {
            func bytes(_ values: [Value]) -> Int { MachineMemory.sum(values.map { program.type(of: $0).hostBytes }) }
            let results = bytes(node.outputs)
            let shapes = node.inputs.compactMap { program.type(of: $0).shape }
            // A table is computed as numbers and then stored as bytes, so both exist for a moment.
            try MachineMemory.require(
                MachineMemory.sum([made, results, results, bytes(node.inputs), node.operation.workBytes(shapes)]),
                for: "folding the tables of \(program.name) up to \"\(node.label)\"")
            made = MachineMemory.sum([made, results])
            tables.formUnion(node.outputs)
        }
    }
}
