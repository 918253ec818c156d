/// The variable `loop`, and the course of a loop.
final class Loop: TemplateObject {
    private let statement: LoopStatement
    private let scope: Scope
    private let elements: ValueIterator
    private var knownLength: Int?
    private let depth: Int
    private var index0 = -1
    private var previous: Value?
    private var current: Value?
    /// Elements that were asked for before their turn.
    private var ahead: [Value] = []
    private var lastChanged: [Value]?

    var typeName: String { "LoopContext" }

    init(_ statement: LoopStatement, over iterable: Value, _ evaluator: Evaluator, _ scope: Scope, depth: Int = 0)
        throws
    {
        (self.statement, self.scope, self.depth) = (statement, scope, depth)
        guard let iterator = try iterable.iterator(evaluator) else {
            throw TemplateFailure.type("'\(iterable.typeName)' object is not iterable")
        }
        guard let test = statement.test else {
            (elements, knownLength) = (iterator, iterator.count)
            return
        }
        elements = ValueIterator { [unowned evaluator] in
            while let element = try iterator.next() {
                try evaluator.budget.spend()
                evaluator.line = test.line
                let inner = Scope(parent: scope)
                try evaluator.assign(element, to: statement.target, in: inner)
                if try evaluator.expressions.evaluate(test, inner).isTrue { return element }
            }
            return nil
        }
    }

    /// Goes on to the next element, and returns it.
    func advance(_ evaluator: Evaluator) throws -> Value? {
        guard let element = ahead.isEmpty ? try elements.next() : ahead.removeFirst() else { return nil }
        index0 += 1
        (previous, current) = (current, element)
        return element
    }

    private func peek() throws -> Value? {
        if ahead.isEmpty, let element = try elements.next() { ahead.append(element) }
        return ahead.first
    }

    private func length(_ evaluator: Evaluator) throws -> Int {
        if let knownLength { return knownLength }
        var rest: [Value] = []
        while let element = try elements.next() {
            try evaluator.budget.spend()
            rest.append(element)
        }
        let length = index0 + 1 + ahead.count + rest.count
        ahead += rest
        knownLength = length
        return length
    }

    func representation(level: Int) -> Text {
        Text("<LoopContext \(index0 + 1)/\(knownLength.map { String($0) } ?? "?")>")
    }

    func attribute(_ name: String, _ evaluator: Evaluator) throws -> Value? {
        switch name {
        case "index": .integer(index0 + 1)
        case "index0": .integer(index0)
        case "first": .bool(index0 == 0)
        case "last": .bool(try peek() == nil)
        case "length": .integer(try length(evaluator))
        case "revindex": .integer(try length(evaluator) - index0)
        case "revindex0": .integer(try length(evaluator) - index0 - 1)
        case "depth": .integer(depth + 1)
        case "depth0": .integer(depth)
        case "previtem":
            index0 == 0 ? .undefined(Undefined(.hint("there is no previous item"))) : previous
        case "nextitem": try peek() ?? .undefined(Undefined(.hint("there is no next item")))
        case "cycle", "changed": .object(BoundMethod(.object(self), name, Self.methods[name]))
        default: nil
        }
    }

    private static let methods: [String: Function] = [
        "cycle": Function(nil) { call in
            let values = call.arguments.positional
            guard case .object(let loop as Loop) = call.subject, !values.isEmpty else {
                throw TemplateFailure.type("no items for cycling given")
            }
            return values[loop.index0 % values.count]
        },
        "changed": Function(nil) { call in
            guard case .object(let loop as Loop) = call.subject else { return .none }
            return .bool(loop.changes(to: call.arguments.positional))
        },
    ]

    private func changes(to values: [Value]) -> Bool {
        if let lastChanged, lastChanged.elementsEqual(values, by: { $0.equals($1) }) { return false }
        lastChanged = values
        return true
    }

    func call(_ arguments: Arguments, _ evaluator: Evaluator) throws -> Value {
        guard statement.isRecursive else {
            throw TemplateFailure.type("The loop must have the 'recursive' marker to be called recursively.")
        }
        guard arguments.positional.count == 1, arguments.named.isEmpty else {
            throw TemplateFailure.type("loop() takes one argument")
        }
        let line = evaluator.line
        let text = try evaluator.recurse(statement, over: arguments.positional[0], in: scope, depth: depth + 1)
        evaluator.line = line
        return .string(text)
    }
}
