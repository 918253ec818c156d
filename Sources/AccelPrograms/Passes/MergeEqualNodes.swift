/// Eliminates common subexpressions: nodes with equal operator, attributes and inputs are computed once.
public enum MergeEqualNodes: ProgramPass {
    public static let name = "merge-equal-nodes"

    private struct Computation: Hashable {
        let name: String
        let attributes: Attributes
        let inputs: [Value]
    }

    public static func run(_ program: Program) throws -> Program {
        var known: [Computation: [Value]] = [:]
        return try program.rewriting { node, inputs, builder in
            let computation = Computation(
                name: node.operation.name, attributes: node.operation.attributes, inputs: inputs)
            if let values = known[computation] { return values }
            let values = try builder.applyAll(node.operation, inputs)
            known[computation] = values
            return values
        }
    }
}
