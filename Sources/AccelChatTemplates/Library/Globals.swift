/// The functions that every template can call.
enum Globals {
    static let functions: [String: Function] = [
        "range": Function("start stop? step?") { try range($0) },
        "dict": Function(nil) { .dict(try dict($0.arguments, $0.evaluator)) },
        "namespace": Function(nil) { call in
            let object = try Namespace(try dict(call.arguments, call.evaluator))
            try call.evaluator.release { object.removeAll() }
            return .object(object)
        },
        "raise_exception": Function("message") { call in
            throw TemplateFailure(.raised, try call.evaluator.printed(call[0] ?? .none).string)
        },
        "strftime_now": Function("format") { .string($0.evaluator.now.formatted(try $0.text(0))) },
        "cycler": Function(nil) { .object(try Cycler($0.arguments)) },
        "joiner": Function("sep?") { .object(Joiner(try $0[0].map { try Call.text($0) } ?? Text(", "))) },
    ]

    static var table: [String: any TemplateObject] {
        var table: [String: any TemplateObject] = [:]
        for (name, function) in functions { table[name] = GlobalFunction(name, function) }
        return table
    }

    private static func range(_ call: Call) throws -> Value {
        let first = try call.int(0, default: 0)
        let range = try ValueRange(
            start: call[1] == nil ? 0 : first, stop: try call.int(1, default: first), step: try call.int(2, default: 1))
        let most = call.evaluator.budget.limits.range
        guard range.count <= most else { throw TemplateFailure(.limit, "a range has more than \(most) numbers") }
        return .range(range)
    }

    /// Returns the dictionary that `dict` makes of a mapping or pairs, and of names.
    static func dict(_ arguments: Arguments, _ evaluator: Evaluator) throws -> Dict {
        guard arguments.positional.count <= 1 else { throw TemplateFailure.type("dict expected at most 1 argument") }
        let result = Dict()
        switch arguments.positional.first {
        case nil: break
        case .dict(let dict): try result.merge(dict)
        case let pairs?:
            for pair in try pairs.elements(evaluator) {
                let parts = try pair.elements(evaluator)
                guard parts.count == 2 else {
                    throw TemplateFailure.value("a dictionary takes pairs, found \(parts.count) elements")
                }
                try result.set(parts[0], parts[1])
            }
        }
        try result.merge(try arguments.named.reduce(into: Dict()) { try $0.set($1.name, $1.value) })
        return result
    }
}

/// A function that every template can call.
final class GlobalFunction: TemplateObject {
    private let name: String
    private let function: Function
    var typeName: String { "function" }

    init(_ name: String, _ function: Function) { (self.name, self.function) = (name, function) }

    func representation(level: Int) -> Text { Text("<function \(name)>") }

    func attribute(_ name: String, _ evaluator: Evaluator) throws -> Value? {
        guard self.name == "dict", name == "fromkeys" else { return nil }
        return .object(GlobalFunction(name, Function("iterable value?") { try Methods.fromKeys($0) }))
    }

    func call(_ arguments: Arguments, _ evaluator: Evaluator) throws -> Value {
        try function.call(name, on: .none, arguments, evaluator)
    }
}
