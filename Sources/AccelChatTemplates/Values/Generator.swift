/// Values that come one by one, as a Python generator or iterator gives them: once.
final class Generator {
    let typeName: String
    let depth: Int
    private var step: (() throws -> Value?)?

    /// - Parameter source: the value that the others are made of.
    /// - Throws: `TemplateFailure` if generators are made of generators too deeply.
    init(_ typeName: String = "generator", over source: Value, _ step: @escaping () throws -> Value?) throws {
        self.typeName = typeName
        self.step = step
        depth = try ValueSize(around: [source]).depth
    }

    /// Returns the next value; nil at the end, and ever after.
    func next() throws -> Value? {
        guard let step else { return nil }
        do {
            if let value = try step() { return value }
        } catch {
            self.step = nil
            throw error
        }
        self.step = nil
        return nil
    }
}

/// Goes through the elements of a value.
struct ValueIterator {
    /// The number of elements, where the value has a length.
    let count: Int?
    private let step: () throws -> Value?

    init(count: Int? = nil, _ step: @escaping () throws -> Value?) {
        self.count = count
        self.step = step
    }

    init(_ elements: [Value]) {
        var position = 0
        self.init(count: elements.count) {
            guard position < elements.count else { return nil }
            position += 1
            return elements[position - 1]
        }
    }

    func next() throws -> Value? { try step() }
}

extension Value {
    /// Returns an iterator over the elements; nil if the value has none.
    func iterator(_ evaluator: Evaluator) throws -> ValueIterator? {
        switch self {
        case .list(let items), .tuple(let items): return ValueIterator(items.elements)
        case .string(let text): return ValueIterator(text.map { .string([$0]) })
        case .markup(let text): return ValueIterator(text.map { .string([$0]) })
        case .dict(let dict): return ValueIterator(dict.keys)
        case .view(let view): return ValueIterator(try view.elements())
        case .undefined: return ValueIterator([])
        case .range(let range):
            var position = 0
            return ValueIterator(count: range.count) {
                guard position < range.count else { return nil }
                position += 1
                return range[position - 1]
            }
        case .generator(let generator): return ValueIterator { try generator.next() }
        case .object(let object as Loop): return ValueIterator { try object.advance(evaluator) }
        default: return nil
        }
    }

    /// Returns all elements.
    /// - Throws: `TemplateFailure` for a value without elements.
    func elements(_ evaluator: Evaluator) throws -> [Value] {
        if case .list(let items) = self { return items.elements }
        if case .tuple(let items) = self { return items.elements }
        guard let iterator = try iterator(evaluator) else {
            throw TemplateFailure.type("'\(typeName)' object is not iterable")
        }
        var elements: [Value] = []
        while let element = try iterator.next() {
            try evaluator.budget.spend()
            elements.append(element)
        }
        return elements
    }

    /// The number of elements, as Python's `len` has it.
    /// - Throws: `TemplateFailure` for a value without length.
    func length() throws -> Int {
        switch self {
        case .list(let items), .tuple(let items): return items.elements.count
        case .string(let text), .markup(let text): return text.count
        case .dict(let dict): return dict.count
        case .view(let view): return view.dict.count
        case .range(let range): return range.count
        case .undefined: return 0
        default: throw TemplateFailure.type("object of type '\(typeName)' has no len()")
        }
    }
}
