/// The registry of import rules. A new rule is a line in one of these lists.
public enum ImportRules {
    /// All rules, one for each operation type.
    public static let all: [ImportRule] = [
        ImportRule.unary, ImportRule.binary, ImportRule.logic, ImportRule.products, ImportRule.norms,
        ImportRule.reductions, ImportRule.shapes, ImportRule.slices, ImportRule.indexing, ImportRule.resizing,
        ImportRule.states,
    ].flatMap(\.self)

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// A number that increases when a rule changes the graph of some operation; part of cache keys.
    public static let version = 1
}

extension ImportRules {
    /// Returns the rule for an operation type; nil if there is none.
    public static func rule(for operation: String) -> ImportRule? { byName[operation] }
}
