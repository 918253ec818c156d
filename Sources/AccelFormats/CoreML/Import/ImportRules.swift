/// The table from the Model Intermediate Language to operators. A new rule: a line in one of these lists.
public enum ImportRules {
    public static let all: [ImportRule] = [
        ImportRule.unary, ImportRule.binary, ImportRule.logic, ImportRule.products, ImportRule.norms,
        ImportRule.reductions, ImportRule.shapes, ImportRule.slices, ImportRule.indexing, ImportRule.resizing,
        ImportRule.states,
    ].flatMap(\.self)

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// Goes up when a rule makes another graph of some operation.
    public static let version = 1
}

extension ImportRules {
    /// The rule for an operation of this type; nil where there is none.
    public static func rule(for operation: String) -> ImportRule? { byName[operation] }
}
