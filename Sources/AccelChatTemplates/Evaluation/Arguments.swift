/// The arguments of a call.
struct Arguments {
    struct Named {
        let name: String
        let value: Value
    }
    var positional: [Value] = []
    var named: [Named] = []

    /// Returns the named arguments as a dictionary.
    func dict() throws -> Dict {
        let dict = Dict()
        for argument in named { try dict.set(argument.name, argument.value) }
        return dict
    }
}

/// The parameters of a function.
struct Signature: Sendable {
    let names: [String]
    /// The first parameters that must be given.
    let required: Int
    /// Further arguments are taken as they come.
    let isOpen: Bool

    /// Returns the value of each parameter, nil where it is not given.
    /// - Throws: `TemplateFailure` for arguments that the function does not take.
    func bind(_ arguments: Arguments, function: String) throws -> [Value?] {
        if isOpen { return [] }
        guard arguments.positional.count <= names.count else {
            throw TemplateFailure.type(
                "\(function)() takes at most \(names.count) arguments (\(arguments.positional.count) given)")
        }
        var values: [Value?] =
            arguments.positional + Array(repeating: nil, count: names.count - arguments.positional.count)
        for argument in arguments.named {
            guard let index = names.firstIndex(of: argument.name) else {
                throw TemplateFailure.type("\(function)() got an unexpected keyword argument '\(argument.name)'")
            }
            guard values[index] == nil else {
                throw TemplateFailure.type("\(function)() got multiple values for argument '\(argument.name)'")
            }
            values[index] = argument.value
        }
        if let missing = (0..<required).first(where: { values[$0] == nil }) {
            throw TemplateFailure.type("\(function)() missing required argument: '\(names[missing])'")
        }
        return values
    }
}

/// A function of the language: a filter, a test, a method or a global one.
struct Function: Sendable {
    typealias Body = @Sendable (Call) throws -> Value
    let signature: Signature
    let body: Body

    /// - Parameter parameters: the names; those with a question mark may be left out; nil for any arguments.
    init(_ parameters: String? = "", _ body: @escaping Body) {
        let names = (parameters ?? "").split(separator: " ")
        let required = names.prefix { !$0.hasSuffix("?") }.count
        signature = Signature(
            names: names.map { String($0.hasSuffix("?") ? $0.dropLast() : $0) }, required: required,
            isOpen: parameters == nil)
        self.body = body
    }

    /// Calls the function.
    /// - Parameter subject: the value that is filtered or tested, or whose method it is.
    func call(_ name: String, on subject: Value, _ arguments: Arguments, _ evaluator: Evaluator) throws -> Value {
        let values = try signature.bind(arguments, function: name)
        return try body(Call(subject: subject, values: values, arguments: arguments, evaluator: evaluator))
    }
}

/// A call of a function of the language.
struct Call {
    let subject: Value
    /// The value of each parameter, nil where it is not given.
    let values: [Value?]
    /// All arguments.
    let arguments: Arguments
    let evaluator: Evaluator

    /// A parameter; nil where it is not given.
    subscript(index: Int) -> Value? { values[index] }

    /// A parameter; nil where it is not given or is none.
    func optional(_ index: Int) -> Value? {
        if case .some(.none) = values[index] { return nil }
        return values[index]
    }

    /// A parameter as a condition.
    func flag(_ index: Int, default standard: Bool = false) -> Bool { values[index]?.isTrue ?? standard }

    /// A parameter as an integer.
    func int(_ index: Int, default standard: Int) throws -> Int {
        guard let value = values[index] else { return standard }
        return try Self.int(value)
    }

    static func int(_ value: Value) throws -> Int {
        if case .undefined(let undefined) = value { throw undefined.failure }
        guard let integer = value.integer else {
            throw TemplateFailure.type("'\(value.typeName)' object cannot be interpreted as an integer")
        }
        return integer
    }

    /// A parameter as a text.
    func text(_ index: Int) throws -> Text { try Self.text(values[index] ?? .none) }

    static func text(_ value: Value) throws -> Text {
        if case .undefined(let undefined) = value { throw undefined.failure }
        guard let text = value.text else { throw TemplateFailure.type("expected str, not \(value.typeName)") }
        return text
    }
}
