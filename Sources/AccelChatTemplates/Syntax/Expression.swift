/// An expression of a template.
struct Expression: Sendable {
    indirect enum Kind: Sendable {
        case none
        case bool(Bool)
        case integer(Int)
        case float(Double)
        case string(Text)
        case name(String)
        case list([Expression])
        case tuple([Expression])
        case dict([Pair])
        case negative(Expression)
        case positive(Expression)
        case not(Expression)
        case and(Expression, Expression)
        case or(Expression, Expression)
        case arithmetic(Arithmetic, Expression, Expression)
        case concatenation([Expression])
        case comparison(Expression, [Operand])
        case conditional(test: Expression, then: Expression, otherwise: Expression?)
        case attribute(Expression, Name)
        case element(Expression, Expression)
        case slice(Expression, start: Expression?, stop: Expression?, step: Expression?)
        case call(Expression, CallArguments)
        case filter(Expression, Application)
        case test(Expression, Application)
    }

    struct Pair: Sendable {
        let key: Expression
        let value: Expression
    }

    enum Arithmetic: String, Sendable {
        case add = "+"
        case subtract = "-"
        case multiply = "*"
        case divide = "/"
        case floorDivide = "//"
        case remainder = "%"
        case power = "**"
    }

    struct Operand: Sendable {
        let comparison: Comparison
        let value: Expression
    }

    enum Comparison: String, Sendable {
        case equal = "=="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case `in`
        case notIn = "not in"
    }

    /// The name of an attribute, in the two forms that looking it up takes.
    struct Name: Sendable {
        let string: String
        let text: Text
        init(_ string: String) { (self.string, text) = (string, Text(string)) }
    }

    /// The arguments of a call, as they are written.
    struct CallArguments: Sendable {
        var positional: [Expression] = []
        var named: [Named] = []
        /// The values after `*` and `**`.
        var list: Expression?
        var dict: Expression?

        struct Named: Sendable {
            let name: String
            let value: Expression
        }
    }

    /// A filter or a test, and its arguments.
    struct Application: Sendable {
        let name: String
        let arguments: CallArguments
    }

    let kind: Kind
    let line: Int

    init(_ kind: Kind, _ line: Int) { (self.kind, self.line) = (kind, line) }
}
