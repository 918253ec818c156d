/// A change to a program that leaves its meaning as it is.
public protocol ProgramPass: Sendable {
    static var name: String { get }
    static func run(_ program: Program) throws -> Program
}

/// The passes that compilation runs, in this order. A new pass is a file in `Passes/` and a line here.
public enum Passes {
    public static let all: [any ProgramPass.Type] = [
        FoldConstants.self,
        MergeEqualNodes.self,
        FuseActivations.self,
    ]
}

extension FrozenProgram {
    /// Runs every pass; shape rules are checked after each.
    public func optimized() throws -> FrozenProgram {
        try Passes.all.reduce(self) { program, pass in try program.applying(pass.run) }
    }
}
