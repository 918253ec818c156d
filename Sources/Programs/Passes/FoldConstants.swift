/// Computes at compile time what depends on tables only. Weights are not folded: functions share them, and a recipe
/// stores them compressed.
public enum FoldConstants: ProgramPass {
    public static let name = "fold-constants"

    public static func run(_ program: Program) throws -> Program {
        try program.rewriting { node, inputs, builder in
            let tables = inputs.compactMap { builder.table($0) }
            guard tables.count == inputs.count else { return nil }
            return try node.operation.evaluate(tables.map(HostTensor.init)).map {
                builder.literal($0, name: node.label)
            }
        }
    }
}
