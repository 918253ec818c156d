public import AccelPrograms

/// What a function of a Core ML package is read for.
public enum ImportPurpose: Sendable {
    /// What Core ML computes: results of type fp16 are rounded to it, and every operation has its reference meaning.
    case meaning
    /// A graph of registered operators, which a package can hold; in float32, without the rounding to fp16 in between.
    case graph
}

/// How an operation of the Model Intermediate Language is read: an import rule. The table is separate from the one that
/// exporting uses, so that the one checks the other.
public struct ImportRule: Sendable {
    typealias Body = @Sendable (inout MILCall) throws -> [MILArgument]
    /// The operation's type, e.g. `layer_norm`.
    public let name: String
    /// The inputs that it reads, those that an operation may leave out included.
    public let inputs: [String]
    /// The operators that a graph has in its place, sorted by name; not all of them each time, and none where its result is known
    /// while the function is read.
    public let operators: [any Operator.Type]
    /// The oldest target whose operation sets have it.
    public let since: CoreMLTarget
    /// The result has elements of the inputs only, so it needs no rounding.
    let movesOnly: Bool
    let body: Body

    init(
        _ name: String, reads inputs: [String], makes operators: [any Operator.Type], since: CoreMLTarget = .iOS16,
        movesOnly: Bool = false, _ body: @escaping @Sendable (inout MILCall) throws -> MILArgument
    ) {
        self.init(names: name, reads: inputs, makes: operators, since: since, movesOnly: movesOnly) { [try body(&$0)] }
    }

    /// An operation of several results, or none.
    init(
        names name: String, reads inputs: [String], makes operators: [any Operator.Type],
        since: CoreMLTarget = .iOS16, movesOnly: Bool, _ body: @escaping Body
    ) {
        (self.name, self.inputs, self.since) = (name, inputs, since)
        self.operators = operators.sorted { $0.name < $1.name }
        (self.movesOnly, self.body) = (movesOnly, body)
    }
}
