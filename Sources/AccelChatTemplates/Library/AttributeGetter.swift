/// Looks up the attributes that filters name: `name`, `user.name`, `items.0`, or an index.
struct AttributeGetter {
    private let parts: [Value]
    private let foldsCase: Bool
    private let standard: Value?
    private let evaluator: Evaluator

    /// - Parameter attribute: none for the value itself.
    /// - Parameter foldsCase: texts are made lower case.
    /// - Parameter standard: stands for what is undefined; nil to leave it so.
    init(_ attribute: Value, foldsCase: Bool = false, standard: Value? = nil, _ evaluator: Evaluator) {
        self.evaluator = evaluator
        self.foldsCase = foldsCase
        if case .some(Value.none) = standard { self.standard = nil } else { self.standard = standard }
        parts = Self.parts(attribute)
    }

    private static func parts(_ attribute: Value) -> [Value] {
        if case .none = attribute { return [] }
        guard let text = attribute.text else { return [attribute] }
        return SplitText(text, limit: Int.max).parts(separator: ["."], fromEnd: false).map { part in
            let isIndex = !part.isEmpty && part.allSatisfy(\.isASCIIDigit)
            return isIndex ? Int(part.string).map(Value.integer) ?? .string(part) : .string(part)
        }
    }

    func callAsFunction(_ value: Value) throws -> Value {
        try evaluator.budget.spend()
        let found = try parts.reduce(value) { value, part in
            let element = try Access.element(part, of: value, evaluator)
            return element.isUndefined ? standard ?? element : element
        }
        guard foldsCase, let text = found.text else { return found }
        return .string(text.lowercased())
    }
}
