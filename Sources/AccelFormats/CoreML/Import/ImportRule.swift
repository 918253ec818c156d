public import AccelPrograms

/// The purpose of importing a function of a Core ML package.
public enum ImportPurpose: Sendable {
    /// The computation of Core ML: results of type fp16 are rounded to it, and all operations have a reference implementation.
    case meaning
    /// A graph of registered operators for a package, in float32 without intermediate rounding to fp16.
    case graph
}

/// An import rule: one operation of the Model Intermediate Language to operators. The import rules are independent of the
/// lowering rules of the exporter, so that each table checks the other.
public struct ImportRule: Sendable {
    typealias Body = @Sendable (inout MILCall) throws -> [MILArgument]
    /// The operation's type, e.g. `layer_norm`.
    public let name: String
    /// The inputs that the rule reads, including optional ones.
    public let inputs: [String]
    /// The operators that a graph may have instead, sorted by name. An operation uses some of them, or none if its result is
    /// known at import.
    public let operators: [any Operator.Type]
    /// The oldest target whose operation set has the operation.
    public let since: CoreMLTarget
    /// Whether the result consists of input elements only, so that it needs no rounding.
    let movesOnly: Bool
    let body: Body

    init(
        _ name: String, reads inputs: [String], makes operators: [any Operator.Type], since: CoreMLTarget = .iOS16,
        movesOnly: Bool = false, _ body: @escaping @Sendable (inout MILCall) throws -> MILArgument
    ) {
        self.init(names: name, reads: inputs, makes: operators, since: since, movesOnly: movesOnly) { [try body(&$0)] }
    }

    /// A rule for an operation with several results, or none.
    init(
        names name: String, reads inputs: [String], makes operators: [any Operator.Type],
        since: CoreMLTarget = .iOS16, movesOnly: Bool, _ body: @escaping Body
    ) {
        (self.name, self.inputs, self.since) = (name, inputs, since)
        self.operators = operators.sorted { $0.name < $1.name }
        (self.movesOnly, self.body) = (movesOnly, body)
    }
}
