/// A value of a template, as Python has it.
enum Value {
    case undefined(Undefined)
    case none
    case bool(Bool)
    case integer(Int)
    case float(Double)
    case string(Text)
    /// A string that is safe to print in HTML; `escape` leaves it as it is.
    case markup(Text)
    case list(Items)
    case tuple(Items)
    case dict(Dict)
    /// The keys, values or items of a dict.
    case view(DictView)
    case range(ValueRange)
    /// Values that are computed when they are asked for, once.
    case generator(Generator)
    case object(any TemplateObject)

    /// A string.
    static func string(_ string: String) -> Value { .string(Text(string)) }

    /// A list.
    static func list(_ elements: [Value]) throws -> Value { .list(try Items(elements)) }

    /// A tuple.
    static func tuple(_ elements: [Value]) throws -> Value { .tuple(try Items(elements)) }

    /// How much the value holds.
    var size: ValueSize {
        switch self {
        case .list(let items), .tuple(let items): items.size
        case .dict(let dict): dict.size
        case .view(let view): view.dict.size
        case .generator(let generator): ValueSize(depth: generator.depth)
        case .object(let object): object.size
        case .string(let text), .markup(let text): ValueSize(weight: 1 + text.count / 8)
        case .range(let range): ValueSize(weight: range.count)
        default: ValueSize()
        }
    }

    /// The text of a string; nil for other values.
    var text: Text? {
        switch self {
        case .string(let text), .markup(let text): text
        default: nil
        }
    }

    /// The value of an integer or a boolean, which is one.
    var integer: Int? {
        switch self {
        case .integer(let number): number
        case .bool(let flag): flag ? 1 : 0
        default: nil
        }
    }

    /// The value of a number, as float64.
    var number: Double? {
        if case .float(let number) = self { return number }
        return integer.map(Double.init)
    }

    var isUndefined: Bool {
        if case .undefined = self { return true }
        return false
    }

    /// The value as a condition.
    var isTrue: Bool {
        switch self {
        case .undefined, .none: false
        case .bool(let flag): flag
        case .integer(let number): number != 0
        case .float(let number): number != 0
        case .string(let text), .markup(let text): !text.isEmpty
        case .list(let items), .tuple(let items): !items.elements.isEmpty
        case .dict(let dict): dict.count > 0
        case .view(let view): view.dict.count > 0
        case .range(let range): range.count > 0
        case .generator: true
        case .object(let object): object.isTrue
        }
    }

    /// The name of the type in Python, for errors.
    var typeName: String {
        switch self {
        case .undefined: "Undefined"
        case .none: "NoneType"
        case .bool: "bool"
        case .integer: "int"
        case .float: "float"
        case .string: "str"
        case .markup: "Markup"
        case .list: "list"
        case .tuple: "tuple"
        case .dict: "dict"
        case .view(let view): view.kind.rawValue
        case .range: "range"
        case .generator(let generator): generator.typeName
        case .object(let object): object.typeName
        }
    }
}

/// How much a value holds. It bounds the depth of recursion over values, and the time that it takes: a value may hold another one
/// many times.
struct ValueSize {
    /// The depth of nesting; 0 for a value that holds no others.
    var depth = 0
    /// The number of values in it, each as often as it is there. Long texts count more.
    var weight = 1

    static let deepest = 200
    static let heaviest = 1 << 26

    init(depth: Int = 0, weight: Int = 1) { (self.depth, self.weight) = (depth, weight) }

    /// The size of a container of values.
    /// - Throws: `TemplateFailure` if it exceeds the limits.
    init(around values: some Sequence<Value>) throws {
        for value in values {
            let size = value.size
            (depth, weight) = (max(depth, size.depth), weight + size.weight)
            guard weight <= Self.heaviest else { throw TemplateFailure(.limit, "a value holds too many others") }
        }
        depth += 1
        guard depth <= Self.deepest else {
            throw TemplateFailure(.limit, "values are nested more than \(Self.deepest) levels deep")
        }
    }
}

/// The elements of a list or a tuple.
final class Items {
    let elements: [Value]
    let size: ValueSize
    /// Names of the elements, as those of a group; empty for most.
    let names: [String]

    /// - Throws: `TemplateFailure` if the elements hold too much.
    init(_ elements: [Value], names: [String] = []) throws {
        (self.elements, self.names) = (elements, names)
        size = try ValueSize(around: elements)
    }
}

/// A name or an element that is missing, and why.
final class Undefined {
    enum Reason {
        case name(String)
        case attribute(String, typeName: String)
        case element(Value, typeName: String)
        case unsafe(String, typeName: String)
        case hint(String)
    }
    let reason: Reason
    init(_ reason: Reason) { self.reason = reason }

    /// The error that most uses of the value give.
    var failure: TemplateFailure { TemplateFailure(.evaluation, message) }

    private var message: String {
        switch reason {
        case .name(let name): "\(representation(of: name)) is undefined"
        case .attribute(let name, let typeName):
            "'\(typeName == "NoneType" ? "None" : "\(typeName) object")' has no attribute \(representation(of: name))"
        case .element(let key, let typeName):
            "\(typeName == "NoneType" ? "None" : "\(typeName) object") has no element \(key.representation.string)"
        case .unsafe(let name, let typeName):
            "access to attribute \(representation(of: name)) of '\(typeName)' object is unsafe."
        case .hint(let hint): hint
        }
    }

    private func representation(of name: String) -> String { Value.string(name).representation.string }
}

/// A value with attributes that the template can call or change.
protocol TemplateObject: AnyObject {
    var typeName: String { get }
    var size: ValueSize { get }
    var isTrue: Bool { get }
    var isCallable: Bool { get }
    /// Returns the text of `repr` and `str`.
    func representation(level: Int) -> Text
    /// Returns an attribute; nil if there is none.
    func attribute(_ name: String, _ evaluator: Evaluator) throws -> Value?
    func call(_ arguments: Arguments, _ evaluator: Evaluator) throws -> Value
}

extension TemplateObject {
    var size: ValueSize { ValueSize() }
    var isTrue: Bool { true }
    var isCallable: Bool { true }
    func representation(level: Int) -> Text { Text("<\(typeName)>") }
    func attribute(_ name: String, _ evaluator: Evaluator) throws -> Value? { nil }
    func call(_ arguments: Arguments, _ evaluator: Evaluator) throws -> Value {
        throw TemplateFailure.type("'\(typeName)' object is not callable")
    }
}
