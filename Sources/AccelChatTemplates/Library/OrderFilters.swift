/// Filters that compare values.
enum OrderFilters {
    static let table: [String: Function] = [
        "sort": Function("reverse? case_sensitive? attribute?") { call in
            let attributes = call[2]?.text.map { text in
                SplitText(text, limit: Int.max).parts(separator: [","], fromEnd: false).map { Value.string($0) }
            }
            let getters = (attributes ?? [call[2] ?? .none]).map {
                AttributeGetter($0, foldsCase: !call.flag(1), call.evaluator)
            }
            return try .list(
                try sorted(call, call.subject.elements(call.evaluator), isReversed: call.flag(0)) { value in
                    try .list(getters.map { try $0(value) })
                })
        },
        "dictsort": Function("case_sensitive? by? reverse?") { call in
            let by = try call[1].map { try call.evaluator.printed($0).string } ?? "key"
            guard by == "key" || by == "value" else {
                throw TemplateFailure.value("You can only sort by either \"key\" or \"value\"")
            }
            let dict = try Methods.dict(call)
            let getter = AttributeGetter(.integer(by == "key" ? 0 : 1), foldsCase: !call.flag(0), call.evaluator)
            let items = try DictView(kind: .items, dict: dict).elements()
            return try .list(try sorted(call, items, isReversed: call.flag(2)) { try getter($0) })
        },
        "unique": Function("case_sensitive? attribute?") { call in
            try SequenceFilters.lazyList(call) { try unique(call) }
        },
        "min": Function("case_sensitive? attribute?") { try extreme($0, .less) },
        "max": Function("case_sensitive? attribute?") { try extreme($0, .greater) },
        "sum": Function("attribute? start?") { call in
            let getter = AttributeGetter(call[0] ?? .none, call.evaluator)
            let start = call[1] ?? .integer(0)
            guard start.text == nil else {
                throw TemplateFailure.type("sum() can't sum strings [use ''.join(seq) instead]")
            }
            return try call.subject.elements(call.evaluator).reduce(start) {
                try Operators.apply(.add, $0, try getter($1), call.evaluator)
            }
        },
        "groupby": Function("attribute default? case_sensitive?") { try .list(try groups($0)) },
    ]

    /// Sorts values by their keys; equal ones keep their order.
    private static func sorted(
        _ call: Call, _ values: [Value], isReversed: Bool, key: (Value) throws -> Value
    ) throws -> [Value] {
        let keyed = try values.map { (key: try key($0), value: $0) }
        return try keyed.sorted { left, right in
            try call.evaluator.budget.spend(min(left.key.size.weight, right.key.size.weight))
            return try isReversed ? right.key.order(left.key) == .less : left.key.order(right.key) == .less
        }.map(\.value)
    }

    private static func unique(_ call: Call) throws -> [Value] {
        let getter = AttributeGetter(call[1] ?? .none, foldsCase: !call.flag(0), call.evaluator)
        var seen: Set<DictKey> = []
        return try call.subject.elements(call.evaluator).filter { seen.insert(try DictKey(try getter($0))).inserted }
    }

    private static func extreme(_ call: Call, _ wanted: Value.Order) throws -> Value {
        let getter = AttributeGetter(call[1] ?? .none, foldsCase: !call.flag(0), call.evaluator)
        let operation = wanted == .less ? "<" : ">"
        var best: (key: Value, value: Value)?
        for value in try call.subject.elements(call.evaluator) {
            let key = try getter(value)
            if let best, try key.order(best.key, operation: operation) != wanted { continue }
            best = (key, value)
        }
        return best?.value ?? .undefined(Undefined(.hint("No aggregated item, sequence was empty.")))
    }

    /// Groups values by an attribute, in the order of it.
    private static func groups(_ call: Call) throws -> [Value] {
        let attribute = call[0] ?? .none
        let folding = AttributeGetter(attribute, foldsCase: !call.flag(2), standard: call[1], call.evaluator)
        let getter = AttributeGetter(attribute, standard: call[1], call.evaluator)
        let values = try sorted(call, try call.subject.elements(call.evaluator), isReversed: false) { try folding($0) }
        var groups: [(key: Value, values: [Value])] = []
        for value in values {
            let key = try folding(value)
            if let last = groups.last, last.key.equals(key) {
                groups[groups.count - 1].values.append(value)
            } else {
                groups.append((key, [value]))
            }
        }
        return try groups.map { group in
            .tuple(try Items([try getter(group.values[0]), try .list(group.values)], names: ["grouper", "list"]))
        }
    }
}
