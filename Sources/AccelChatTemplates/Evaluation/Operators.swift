import AccelPlatform

/// The operators between values, as Python has them.
enum Operators {
    /// Returns a number with or without a changed sign.
    static func sign(_ value: Value, isNegative: Bool) throws -> Value {
        if case .undefined(let undefined) = value { throw undefined.failure }
        if case .float(let number) = value { return .float(isNegative ? -number : number) }
        guard let integer = value.integer else {
            throw TemplateFailure.type("bad operand type for unary \(isNegative ? "-" : "+"): '\(value.typeName)'")
        }
        guard integer != Int.min || !isNegative else { throw TemplateFailure.overflow() }
        return .integer(isNegative ? -integer : integer)
    }

    /// Compares two values.
    static func compare(
        _ comparison: Expression.Comparison, _ left: Value, _ right: Value, _ evaluator: Evaluator
    ) throws -> Bool {
        try evaluator.budget.spend(min(left.size.weight, right.size.weight))
        switch comparison {
        case .equal: return left.equals(right)
        case .notEqual: return !left.equals(right)
        case .less: return try left.order(right, operation: "<") == .less
        case .lessOrEqual: return [.less, .equal].contains(try left.order(right, operation: "<="))
        case .greater: return try left.order(right, operation: ">") == .greater
        case .greaterOrEqual: return [.greater, .equal].contains(try left.order(right, operation: ">="))
        case .in: return try contains(right, left, evaluator)
        case .notIn: return try !contains(right, left, evaluator)
        }
    }

    /// The container has an element, a key, or a part of its text.
    static func contains(_ container: Value, _ element: Value, _ evaluator: Evaluator) throws -> Bool {
        try evaluator.budget.spend(container.size.weight)
        switch container {
        case .string(let text), .markup(let text):
            guard let part = element.text else {
                throw TemplateFailure.type("'in <string>' requires string as left operand, not \(element.typeName)")
            }
            return text.firstIndex(of: part) != nil
        case .dict(let dict): return try dict.value(element) != nil
        case .view(let view) where view.kind == .keys: return try view.dict.value(element) != nil
        case .range(let range):
            guard let number = element.number, let integer = Int(exactly: number) else { return false }
            return range.contains(element.integer ?? integer)
        default:
            guard let iterator = try container.iterator(evaluator) else {
                throw TemplateFailure.type("argument of type '\(container.typeName)' is not iterable")
            }
            while let other = try iterator.next() {
                try evaluator.budget.spend(other.size.weight)
                if other.equals(element) { return true }
            }
            return false
        }
    }

    /// Applies an arithmetic operator.
    static func apply(
        _ operation: Expression.Arithmetic, _ left: Value, _ right: Value, _ evaluator: Evaluator
    ) throws -> Value {
        if operation == .remainder, let text = left.text {
            return .string(try PercentFormat(text, right, evaluator).formatted())
        }
        for operand in [left, right] {
            if case .undefined(let undefined) = operand { throw undefined.failure }
        }
        if left.number != nil, right.number != nil { return try Numbers.apply(operation, left, right) }
        if let result = try sequence(operation, left, right, evaluator) { return result }
        throw TemplateFailure.type(
            "unsupported operand type(s) for \(operation.rawValue): '\(left.typeName)' and '\(right.typeName)'")
    }

    /// Adds sequences, or repeats one. Nil for other operations.
    private static func sequence(
        _ operation: Expression.Arithmetic, _ left: Value, _ right: Value, _ evaluator: Evaluator
    ) throws -> Value? {
        if operation == .multiply {
            if let count = right.integer { return try repeated(left, count, evaluator) }
            return try left.integer.flatMap { try repeated(right, $0, evaluator) }
        }
        guard operation == .add else { return nil }
        switch (left, right) {
        case (.string(let first), .string(let second)):
            try evaluator.budget.spend(scalars: first.count + second.count)
            return .string(first + second)
        case (.markup, .string), (.string, .markup), (.markup, .markup):
            return .markup(HTMLText.escaped(left) + HTMLText.escaped(right))
        case (.list(let first), .list(let second)):
            try evaluator.budget.spend(first.elements.count + second.elements.count)
            return try .list(first.elements + second.elements)
        case (.tuple(let first), .tuple(let second)):
            try evaluator.budget.spend(first.elements.count + second.elements.count)
            return try .tuple(first.elements + second.elements)
        default: return nil
        }
    }

    private static func repeated(_ value: Value, _ count: Int, _ evaluator: Evaluator) throws -> Value? {
        func repeated<Element>(_ elements: [Element]) throws -> [Element] {
            let (total, overflow) = elements.count.multipliedReportingOverflow(by: max(0, count))
            try evaluator.budget.spend(scalars: overflow ? Int.max : total)
            if Element.self == Value.self { try evaluator.budget.spend(total) }
            return (0..<max(0, elements.isEmpty ? 0 : count)).flatMap { _ in elements }
        }
        switch value {
        case .string(let text): return .string(try repeated(text))
        case .markup(let text): return .markup(try repeated(text))
        case .list(let items): return try .list(try repeated(items.elements))
        case .tuple(let items): return try .tuple(try repeated(items.elements))
        default: return nil
        }
    }
}
