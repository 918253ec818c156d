/// The filters after `|`: a new one is a line in a table.
enum Filters {
    static let table: [String: Function] = TextFilters.table.merging(SequenceFilters.table) { $1 }
        .merging(OrderFilters.table) { $1 }.merging(NumberFilters.table) { $1 }.merging(values) { $1 }
        .merging(unsupported) { $1 }

    private static let values: [String: Function] = [
        "default": standard, "d": standard, "length": length, "count": length,
        "tojson": Function("ensure_ascii? indent? separators? sort_keys?") { try JSONText.text($0) },
        "attr": Function("name") { call in
            let name = try call.text(0).string
            // The filter finds attributes only, not the elements of a dictionary.
            if case .dict = call.subject, Methods.table(call.subject)[name] == nil {
                return .undefined(Undefined(.attribute(name, typeName: "dict")))
            }
            if case .undefined(let undefined) = call.subject { throw undefined.failure }
            return try Access.attribute(.init(name), of: call.subject, call.evaluator)
        },
    ]

    private static let standard = Function("default_value? boolean?") { call in
        let isMissing = call.subject.isUndefined || (call.flag(1) && !call.subject.isTrue)
        return isMissing ? call[0] ?? .string("") : call.subject
    }

    private static let length = Function { call in
        if case .object(let loop as Loop) = call.subject {
            return try loop.attribute("length", call.evaluator) ?? .none
        }
        return .integer(try call.subject.length())
    }

    /// Filters of Jinja2 for web pages and for debugging.
    private static let unsupported = Dictionary(
        uniqueKeysWithValues: ["filesizeformat", "pprint", "random", "striptags", "urlize", "wordwrap", "xmlattr"].map {
            name in
            (name, Function(nil) { _ in throw TemplateFailure(.evaluation, "the filter '\(name)' is not supported") })
        })
}
