/// What an operation of the Model Intermediate Language means, in accelc's operators. The table is separate from the
/// one that exporting uses, so that the one checks the other.
struct MILMeaning: Sendable {
    typealias Body = @Sendable (inout MILCall) throws -> [MILArgument]
    let name: String
    /// The result has elements of the inputs only, so it needs no rounding.
    let movesOnly: Bool
    let body: Body

    init(_ name: String, movesOnly: Bool = false, _ body: @escaping @Sendable (inout MILCall) throws -> MILArgument) {
        self.init(names: name, movesOnly: movesOnly) { [try body(&$0)] }
    }

    init(names name: String, movesOnly: Bool, _ body: @escaping Body) {
        (self.name, self.movesOnly, self.body) = (name, movesOnly, body)
    }

    /// All operations that are understood. A new one: a line in one of these lists.
    static let all: [MILMeaning] = [
        unary, binary, logic, products, norms, reductions, shapes, slices, indexing, resizing, states,
    ].flatMap(\.self)

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
}
