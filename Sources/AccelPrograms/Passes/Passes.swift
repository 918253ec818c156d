/// A change to a program that leaves its meaning as it is.
public protocol ProgramPass: Sendable {
    static var name: String { get }
    /// Goes up when the pass makes another program of some program.
    static var version: Int { get }
    static func run(_ program: Program) throws -> Program
}

extension ProgramPass {
    public static var version: Int { 1 }
}

/// The passes that compilation runs, in this order. A new pass is a file in `Passes/` and a line here.
public enum Passes {
    public static let all: [any ProgramPass.Type] = [
        FoldConstants.self,
        MergeEqualNodes.self,
        FuseActivations.self,
    ]

    /// By the pass's name.
    public static var versions: [String: Int] { Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.version) }) }
}

extension FrozenProgram {
    /// Runs every pass; shape rules are checked after each.
    public func optimized() throws -> FrozenProgram {
        try Passes.all.reduce(self) { program, pass in try program.applying(pass.run) }
    }
}
