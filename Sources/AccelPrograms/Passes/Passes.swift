/// A rewrite of a program that keeps its results.
public protocol ProgramPass: Sendable {
    /// The name that packages record, such as `fold-constants`.
    static var name: String { get }
    /// Increases when the pass rewrites any program differently.
    static var version: Int { get }
    /// Returns the rewritten program.
    /// - Throws: `ShapeError` if an operator does not fit, and `RequestError` if memory does not suffice.
    static func run(_ program: Program) throws -> Program
}

extension ProgramPass {
    public static var version: Int { 1 }
}

/// The registry of target-independent passes. A new pass is one file in `Passes/` and one line here.
public enum Passes {
    /// Every pass, in the order in which they run.
    public static let all: [any ProgramPass.Type] = [
        FoldConstants.self,
        MergeEqualNodes.self,
        FuseActivations.self,
    ]

    /// The versions by pass name, as packages record them.
    public static var versions: [String: Int] { Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.version) }) }
}

extension FrozenProgram {
    /// Runs every pass in order; shape rules are checked after each.
    public func optimized() throws -> FrozenProgram {
        try Passes.all.reduce(self) { program, pass in try program.applying(pass.run) }
    }
}
