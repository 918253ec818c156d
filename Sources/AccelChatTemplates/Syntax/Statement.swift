/// A statement of a template.
indirect enum Statement: Sendable {
    /// Text and expressions to print.
    case output([Piece])
    case conditional([Branch], otherwise: [Statement])
    case loop(LoopStatement)
    case set(Target, Expression, line: Int)
    case setBlock(Target, filters: [Filter], body: [Statement], line: Int)
    case macro(MacroDefinition, line: Int)
    /// A call with a macro of its own, `caller`.
    case call(MacroDefinition, Expression, line: Int)
    case filterBlock([Filter], body: [Statement], line: Int)
    case with([Assignment], body: [Statement])
    /// Statements whose variables are their own.
    case scope([Statement])
    /// A block of template inheritance, which sees the variables of the top level only.
    case block([Statement])
    case breakLoop
    case continueLoop

    enum Piece: Sendable {
        case text(Text)
        case expression(Expression)
    }

    struct Branch: Sendable {
        let test: Expression
        let body: [Statement]
        let line: Int
    }

    struct Assignment: Sendable {
        let target: Target
        let value: Expression
    }

    /// A filter of a block.
    struct Filter: Sendable {
        let application: Expression.Application
        let line: Int
    }
}

/// The target of an assignment.
indirect enum Target: Sendable {
    case name(String)
    case tuple([Target])
    /// An attribute of a namespace.
    case attribute(String, String)
}

/// A `for` loop.
struct LoopStatement: Sendable {
    let target: Target
    let iterable: Expression
    let test: Expression?
    let isRecursive: Bool
    let body: [Statement]
    let otherwise: [Statement]
    let line: Int
}

/// A macro, or the body of a call block.
struct MacroDefinition: Sendable {
    let name: String?
    let parameters: [Parameter]
    let body: [Statement]
    /// The body uses these special names.
    let usesCaller: Bool
    let usesKeywords: Bool
    let usesPositionals: Bool
    let line: Int

    struct Parameter: Sendable {
        let name: String
        let defaultValue: Expression?
    }
}
