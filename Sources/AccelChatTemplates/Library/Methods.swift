/// The methods of values, by their types.
enum Methods {
    /// Returns the methods of a value.
    static func table(_ value: Value) -> [String: Function] {
        switch value {
        case .string, .markup: StringMethods.table
        case .dict: dicts
        case .list: lists
        case .tuple, .range: sequences
        case .integer, .bool: integers
        case .float: floats
        default: [:]
        }
    }

    /// Methods whose parameters may be given by name.
    static let taking: Set<String> = ["split", "rsplit", "splitlines", "expandtabs"]

    /// Returns the methods that would change a value, which the sandbox does not call.
    static func changing(_ value: Value) -> Set<String> {
        switch value {
        case .dict: ["clear", "pop", "popitem", "setdefault", "update"]
        case .list: ["append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"]
        default: []
        }
    }

    private static let dicts: [String: Function] = [
        "keys": Function { .view(DictView(kind: .keys, dict: try dict($0))) },
        "values": Function { .view(DictView(kind: .values, dict: try dict($0))) },
        "items": Function { .view(DictView(kind: .items, dict: try dict($0))) },
        "get": Function("key default?") { try dict($0).value($0[0] ?? .none) ?? $0[1] ?? .none },
        "copy": Function { call in
            let copy = Dict()
            try copy.merge(try dict(call))
            return .dict(copy)
        },
        "fromkeys": Function("iterable value?") { try fromKeys($0) },
    ]

    static func dict(_ call: Call) throws -> Dict {
        guard case .dict(let dict) = call.subject else { throw TemplateFailure.type("expected a dict") }
        return dict
    }

    /// A dictionary with one value for all keys.
    static func fromKeys(_ call: Call) throws -> Value {
        let dict = Dict()
        for key in try (call[0] ?? .none).elements(call.evaluator) { try dict.set(key, call[1] ?? .none) }
        return .dict(dict)
    }

    private static let lists: [String: Function] = sequences.merging([
        "copy": Function { try .list(try $0.subject.elements($0.evaluator)) }
    ]) { $1 }

    private static let sequences: [String: Function] = [
        "index": Function("value start? stop?") { call in
            let elements = try call.subject.elements(call.evaluator)
            let bounds = try StringMethods.bounds(call, elements.count)
            guard
                let index = (bounds.start..<max(bounds.start, bounds.end)).first(where: {
                    elements[$0].equals(call[0] ?? .none)
                })
            else { throw TemplateFailure.value("\((call[0] ?? .none).representation.string) is not in list") }
            return .integer(index)
        },
        "count": Function("value") { call in
            .integer(try call.subject.elements(call.evaluator).count { $0.equals(call[0] ?? .none) })
        },
    ]

    private static let integers: [String: Function] = [
        "bit_length": Function { call in
            let magnitude = (call.subject.integer ?? 0).magnitude
            return .integer(UInt.bitWidth - magnitude.leadingZeroBitCount)
        },
        "conjugate": Function { .integer($0.subject.integer ?? 0) },
    ]

    private static let floats: [String: Function] = [
        "is_integer": Function { .bool($0.subject.number.map { $0.isFinite && $0 == $0.rounded() } ?? false) },
        "conjugate": Function { $0.subject },
    ]
}
