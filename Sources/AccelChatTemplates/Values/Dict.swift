/// An ordered dictionary. It does not change, except while it is filled.
final class Dict {
    private(set) var keys: [Value] = []
    private(set) var values: [Value] = []
    private var indices: [DictKey: Int] = [:]
    private(set) var size = ValueSize(depth: 1)

    init() {}

    var count: Int { keys.count }

    /// Stores a value under a key. A known key keeps its position.
    /// - Throws: `TemplateFailure` for a key that is no constant, and for nesting that is too deep.
    func set(_ key: Value, _ value: Value) throws {
        let hashed = try DictKey(key)
        let member = try ValueSize(around: [key, value])
        size = ValueSize(depth: max(size.depth, member.depth), weight: size.weight + member.weight)
        guard size.weight <= ValueSize.heaviest else { throw TemplateFailure(.limit, "a value holds too many others") }
        if let index = indices[hashed] {
            values[index] = value
        } else {
            indices[hashed] = keys.count
            keys.append(key)
            values.append(value)
        }
    }

    /// Stores a value under a name.
    func set(_ name: String, _ value: Value) throws { try set(.string(name), value) }

    /// Returns the value of a key; nil if there is none.
    /// - Throws: `TemplateFailure` for a key that is no constant.
    func value(_ key: Value) throws -> Value? { indices[try DictKey(key)].map { values[$0] } }

    /// Returns the value of a string; nil if there is none.
    func value(_ key: Text) -> Value? { indices[DictKey(key)].map { values[$0] } }

    /// Adds all members of another dictionary.
    func merge(_ other: Dict) throws {
        for (key, value) in zip(other.keys, other.values) { try set(key, value) }
    }

    /// Removes what it holds, so that no values hold each other.
    func removeAll() { (keys, values, indices) = ([], [], [:]) }
}

/// A view of a dictionary: its keys, values or items.
final class DictView {
    enum Kind: String {
        case keys = "dict_keys"
        case values = "dict_values"
        case items = "dict_items"
    }
    let kind: Kind
    let dict: Dict

    init(kind: Kind, dict: Dict) { (self.kind, self.dict) = (kind, dict) }

    func elements() throws -> [Value] {
        switch kind {
        case .keys: dict.keys
        case .values: dict.values
        case .items: try zip(dict.keys, dict.values).map { try .tuple([$0, $1]) }
        }
    }
}

/// A key of a dictionary: a constant. Numbers that are equal are one key.
struct DictKey: Hashable {
    private let value: Value

    init(_ text: Text) { value = .string(text) }

    init(_ value: Value) throws {
        try Self.check(value)
        self.value = value
    }

    private static func check(_ value: Value) throws {
        switch value {
        case .list, .dict, .view: throw TemplateFailure.type("unhashable type: '\(value.typeName)'")
        case .tuple(let items): for element in items.elements { try check(element) }
        default: return
        }
    }

    static func == (left: DictKey, right: DictKey) -> Bool { left.value.equals(right.value) }

    func hash(into hasher: inout Hasher) { Self.hash(value, into: &hasher) }

    private static func hash(_ value: Value, into hasher: inout Hasher) {
        switch value {
        case .string(let text), .markup(let text): for scalar in text { hasher.combine(scalar.value) }
        case .bool, .integer: hasher.combine(value.integer)
        case .float(let number):
            if let integer = Int(exactly: number) { hasher.combine(Optional(integer)) } else { hasher.combine(number) }
        case .tuple(let items): for element in items.elements { hash(element, into: &hasher) }
        case .range(let range): hasher.combine(range.count)
        case .object(let object): hasher.combine(ObjectIdentifier(object))
        case .generator(let generator): hasher.combine(ObjectIdentifier(generator))
        case .none, .undefined, .list, .dict, .view: hasher.combine(0)
        }
    }
}
