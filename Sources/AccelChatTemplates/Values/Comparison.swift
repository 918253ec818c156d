extension Value {
    /// The values are equal as Python's `==` has it.
    func equals(_ other: Value) -> Bool {
        switch (self, other) {
        case (.undefined, .undefined), (.none, .none): return true
        case (.list(let left), .list(let right)), (.tuple(let left), .tuple(let right)):
            return left === right || left.elements.elementsEqual(right.elements) { $0.equals($1) }
        case (.dict(let left), .dict(let right)): return left === right || Self.equal(left, right)
        case (.range(let left), .range(let right)): return left.equals(right)
        case (.object(let left), .object(let right)): return left === right || equalMethods(left, right)
        case (.generator(let left), .generator(let right)): return left === right
        case (.view(let left), .view(let right)): return Self.equal(left, right)
        default: break
        }
        if let left = text, let right = other.text { return left == right }
        return Self.order(ofNumbers: self, other) == .equal
    }

    private static func equal(_ left: Dict, _ right: Dict) -> Bool {
        left.count == right.count
            && zip(left.keys, left.values).allSatisfy { key, value in
                (try? right.value(key))?.equals(value) ?? false
            }
    }

    private static func equal(_ left: DictView, _ right: DictView) -> Bool {
        guard left.kind == right.kind, left.kind != .values, left.dict.count == right.dict.count else { return false }
        if left.kind == .items { return equal(left.dict, right.dict) }
        return left.dict.keys.allSatisfy { ((try? right.dict.value($0)) ?? nil) != nil }
    }

    private func equalMethods(_ left: any TemplateObject, _ right: any TemplateObject) -> Bool {
        guard let left = left as? BoundMethod, let right = right as? BoundMethod else { return false }
        return left.name == right.name && left.receiver.isIdentical(to: right.receiver)
    }

    /// An order of two values; nil where they have none, such as NaN.
    enum Order {
        case less, equal, greater

        init<Number: Comparable>(_ left: Number, _ right: Number) {
            self = left < right ? .less : left == right ? .equal : .greater
        }
    }

    /// Returns the order of two numbers, exactly; nil if they have none, or are no numbers.
    private static func order(ofNumbers left: Value, _ right: Value) -> Order? {
        if let left = left.integer, let right = right.integer { return Order(left, right) }
        guard let first = left.number, let second = right.number, !first.isNaN, !second.isNaN else { return nil }
        // An integer beyond 2^53 is compared as an integer where the other one is one too.
        if first == second, abs(first) >= 0x1p53 {
            if let left = left.integer ?? Int(exactly: first), let right = right.integer ?? Int(exactly: second) {
                return Order(left, right)
            }
            return left.integer == nil ? .greater : .less
        }
        return Order(first, second)
    }

    /// Returns the order of two values; nil where neither is less, nor are they equal.
    /// - Throws: `TemplateFailure` for values without order.
    func order(_ other: Value, operation: String = "<") throws -> Order? {
        if case .undefined(let undefined) = self { throw undefined.failure }
        if case .undefined(let undefined) = other { throw undefined.failure }
        if number != nil, other.number != nil { return Self.order(ofNumbers: self, other) }
        if let left = text, let right = other.text { return Self.order(left, right) }
        switch (self, other) {
        case (.list(let left), .list(let right)), (.tuple(let left), .tuple(let right)):
            for (first, second) in zip(left.elements, right.elements) where !first.equals(second) {
                return try first.order(second, operation: operation)
            }
            return Order(left.elements.count, right.elements.count)
        default:
            throw TemplateFailure.type(
                "'\(operation)' not supported between instances of '\(typeName)' and '\(other.typeName)'")
        }
    }

    private static func order(_ left: Text, _ right: Text) -> Order {
        for (first, second) in zip(left, right) where first != second { return Order(first, second) }
        return Order(left.count, right.count)
    }

    /// The values are one, as Python's `is` has it.
    func isIdentical(to other: Value) -> Bool {
        switch (self, other) {
        case (.none, .none): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.string(let left), .string(let right)): left == right
        case (.list(let left), .list(let right)), (.tuple(let left), .tuple(let right)): left === right
        case (.dict(let left), .dict(let right)): left === right
        case (.object(let left), .object(let right)): left === right
        case (.generator(let left), .generator(let right)): left === right
        case (.undefined(let left), .undefined(let right)): left === right
        default: false
        }
    }
}
