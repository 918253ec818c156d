/// Filters that take and give several values.
enum SequenceFilters {
    static let table: [String: Function] = [
        "list": Function { try .list(try $0.subject.elements($0.evaluator)) },
        "first": Function { call in
            guard let iterator = try call.subject.iterator(call.evaluator) else { throw notIterable(call.subject) }
            return try iterator.next() ?? .undefined(Undefined(.hint("No first item, sequence was empty.")))
        },
        "last": Function { call in
            if case .generator = call.subject { throw notReversible(call.subject) }
            if case .object = call.subject { throw notReversible(call.subject) }
            return try call.subject.elements(call.evaluator).last
                ?? .undefined(Undefined(.hint("No last item, sequence was empty.")))
        },
        "reverse": Function { call in
            if let text = call.subject.text { return .string(text.reversed()) }
            let elements = try call.subject.elements(call.evaluator)
            if case .generator = call.subject { return try .list(elements.reversed()) }
            return try generator("list_reverseiterator", call, elements.reversed())
        },
        "join": Function("d? attribute?") { call in
            let getter = AttributeGetter(call[1] ?? .none, call.evaluator)
            let parts = try call.subject.elements(call.evaluator).map { try call.evaluator.printed(try getter($0)) }
            let separator = try call[0].map { try call.evaluator.printed($0) } ?? []
            try call.evaluator.budget.spend(
                scalars: parts.reduce(0) { $0 + $1.count } + parts.count * separator.count)
            return .string(parts.joined(by: separator))
        },
        "items": Function { call in
            if call.subject.isUndefined { return try generator("generator", call, []) }
            guard case .dict(let dict) = call.subject else {
                return try failing(call, "Can only get item pairs from a mapping.")
            }
            return try generator("generator", call, try DictView(kind: .items, dict: dict).elements())
        },
        "map": Function(nil) { call in try lazily(call) { try mapping(call) } },
        "select": Function(nil) { call in try lazily(call) { try selecting(call, attribute: false, wanted: true) } },
        "reject": Function(nil) { call in try lazily(call) { try selecting(call, attribute: false, wanted: false) } },
        "selectattr": Function(nil) { call in try lazily(call) { try selecting(call, attribute: true, wanted: true) } },
        "rejectattr": Function(nil) { call in try lazily(call) { try selecting(call, attribute: true, wanted: false) }
        },
        "batch": Function("linecount fill_with?") { call in
            try lazyList(call) { try batches(call) }
        },
        "slice": Function("slices fill_with?") { call in
            try lazyList(call) { try slices(call) }
        },
    ]

    static func notIterable(_ value: Value) -> TemplateFailure {
        .type("'\(value.typeName)' object is not iterable")
    }

    private static func notReversible(_ value: Value) -> TemplateFailure {
        .type("'\(value.typeName)' object is not reversible")
    }

    private static func generator(_ typeName: String, _ call: Call, _ elements: [Value]) throws -> Value {
        let iterator = ValueIterator(elements)
        return .generator(try Generator(typeName, over: call.subject) { try iterator.next() })
    }

    private static func failing(_ call: Call, _ reason: String) throws -> Value {
        .generator(try Generator(over: call.subject) { throw TemplateFailure.type(reason) })
    }

    /// Makes a list when its first element is asked for.
    static func lazyList(_ call: Call, _ make: @escaping () throws -> [Value]) throws -> Value {
        var iterator: ValueIterator?
        return .generator(
            try Generator(over: call.subject) {
                if iterator == nil { iterator = ValueIterator(try make()) }
                return try iterator?.next()
            })
    }

    /// Applies a function to each element when it is asked for; elements without result are left out.
    private static func lazily(_ call: Call, _ prepare: @escaping () throws -> (Value) throws -> Value?) throws -> Value
    {
        var started: (iterator: ValueIterator, function: (Value) throws -> Value?)?
        return .generator(
            try Generator(over: call.subject) {
                guard call.subject.isTrue else { return nil }
                if started == nil {
                    let function = try prepare()
                    guard let iterator = try call.subject.iterator(call.evaluator) else {
                        throw notIterable(call.subject)
                    }
                    started = (iterator, function)
                }
                while let started, let element = try started.iterator.next() {
                    try call.evaluator.budget.spend()
                    if let result = try call.evaluator.budget.descend({ try started.function(element) }) {
                        return result
                    }
                }
                return nil
            })
    }

    private static func mapping(_ call: Call) throws -> (Value) throws -> Value? {
        var arguments = call.arguments
        if arguments.positional.isEmpty, let attribute = arguments.named.first(where: { $0.name == "attribute" }) {
            let standard = arguments.named.first { $0.name == "default" }?.value
            if let other = arguments.named.first(where: { $0.name != "attribute" && $0.name != "default" }) {
                throw TemplateFailure.type("Unexpected keyword argument '\(other.name)'")
            }
            let getter = AttributeGetter(attribute.value, standard: standard, call.evaluator)
            return { try getter($0) }
        }
        guard let name = arguments.positional.first else {
            throw TemplateFailure.type("map requires a filter argument")
        }
        arguments.positional.removeFirst()
        let filter = try call.evaluator.printed(name).string
        return { [arguments] in try call.evaluator.expressions.filter(filter, $0, arguments) }
    }

    private static func selecting(_ call: Call, attribute: Bool, wanted: Bool) throws -> (Value) throws -> Value? {
        var arguments = call.arguments
        var getter = AttributeGetter(.none, call.evaluator)
        if attribute {
            guard let name = arguments.positional.first else {
                throw TemplateFailure.type("Missing parameter for attribute name")
            }
            getter = AttributeGetter(name, call.evaluator)
            arguments.positional.removeFirst()
        }
        guard let name = arguments.positional.first else {
            return { [getter] in try getter($0).isTrue == wanted ? $0 : nil }
        }
        arguments.positional.removeFirst()
        let test = try call.evaluator.printed(name).string
        return { [getter, arguments] element in
            try call.evaluator.expressions.test(test, try getter(element), arguments) == wanted ? element : nil
        }
    }

    private static func batches(_ call: Call) throws -> [Value] {
        let size = try call.int(0, default: 1)
        var (batches, batch) = ([Value](), [Value]())
        for element in try call.subject.elements(call.evaluator) {
            if batch.count == size {
                batches.append(try .list(batch))
                batch = []
            }
            batch.append(element)
        }
        guard !batch.isEmpty else { return batches }
        if let fill = call.optional(1), batch.count < size {
            try call.evaluator.budget.spend(size)
            batch += Array(repeating: fill, count: size - batch.count)
        }
        return batches + [try .list(batch)]
    }

    private static func slices(_ call: Call) throws -> [Value] {
        let elements = try call.subject.elements(call.evaluator)
        let count = try call.int(0, default: 1)
        guard count != 0 else { throw TemplateFailure.value("integer division or modulo by zero") }
        guard count > 0 else { return [] }
        try call.evaluator.budget.spend(count)
        let (size, larger) = elements.count.quotientAndRemainder(dividingBy: count)
        var start = 0
        return try (0..<count).map { index in
            let end = start + size + (index < larger ? 1 : 0)
            var slice = Array(elements[start..<end])
            if index >= larger, let fill = call.optional(1) { slice.append(fill) }
            start = end
            return try .list(slice)
        }
    }
}
