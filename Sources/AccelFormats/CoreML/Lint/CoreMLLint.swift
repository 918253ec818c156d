/// The rules for Core ML packages. A new one is a value in a file of this folder, and a name here.
enum CoreMLLint {
    typealias Rule = LintRule<LintedFunction>

    static let rules: [Rule] = [
        stateSizes, statesBesidePalettes, longAxes, ranks, lastAxes, flexibleShapes, float32, infinities, squares,
        smallEpsilons, exponentials, phases, cuts, recurrences, longSoftmax, largeFunctions, largeInt8, sharedNames,
        strides,
    ]
}

extension CoreMLPackage {
    /// Returns what the rules of the linter find, the most severe first.
    /// - Throws: `FormatError` if a constant is corrupt.
    public func lint() throws -> [LintFinding] {
        try [LintFinding](
            CoreMLLint.rules,
            in: model.program.functions.map { ($0.name, try LintedFunction($0, of: self)) })
    }
}
