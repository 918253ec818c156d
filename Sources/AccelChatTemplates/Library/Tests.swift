/// The tests after `is`.
enum Tests {
    static let table: [String: Function] = types.merging(comparisons) { $1 }

    private static func type(_ test: @escaping @Sendable (Value) -> Bool) -> Function {
        Function { .bool(test($0.subject)) }
    }

    private static let types: [String: Function] = [
        "defined": type { !$0.isUndefined },
        "undefined": type { $0.isUndefined },
        "none": type { if case .none = $0 { true } else { false } },
        "boolean": type { if case .bool = $0 { true } else { false } },
        "true": type { if case .bool(true) = $0 { true } else { false } },
        "false": type { if case .bool(false) = $0 { true } else { false } },
        "integer": type { if case .integer = $0 { true } else { false } },
        "float": type { if case .float = $0 { true } else { false } },
        "number": type { $0.number != nil },
        "string": type { $0.text != nil },
        "mapping": type { if case .dict = $0 { true } else { false } },
        "escaped": type { if case .markup = $0 { true } else { false } },
        "iterable": Function { .bool(try $0.subject.iterator($0.evaluator) != nil) },
        "sequence": type { value in
            switch value {
            case .view: false
            default: (try? value.length()) != nil
            }
        },
        "callable": type { value in
            switch value {
            case .undefined: true
            case .object(let object): object.isCallable
            default: false
            }
        },
        "lower": Function { .bool(try $0.evaluator.printed($0.subject).isOfCase(upper: false)) },
        "upper": Function { .bool(try $0.evaluator.printed($0.subject).isOfCase(upper: true)) },
        "filter": type { $0.text.map { Filters.table[$0.string] != nil } ?? false },
        "test": type { $0.text.map { Tests.table[$0.string] != nil } ?? false },
    ]

    private static func comparing(_ comparison: Expression.Comparison) -> Function {
        Function("other") { call in
            .bool(try Operators.compare(comparison, call.subject, call[0] ?? .none, call.evaluator))
        }
    }

    private static func remainder(_ divisor: Int?, is expected: Int) -> Function {
        Function(divisor == nil ? "num" : "") { call in
            let value = try Operators.apply(
                .remainder, call.subject, divisor.map(Value.integer) ?? call[0] ?? .none, call.evaluator)
            return .bool(value.equals(.integer(expected)))
        }
    }

    private static let comparisons: [String: Function] = [
        "odd": remainder(2, is: 1), "even": remainder(2, is: 0), "divisibleby": remainder(nil, is: 0),
        "sameas": Function("other") { .bool($0.subject.isIdentical(to: $0[0] ?? .none)) },
        "in": Function("seq") { .bool(try Operators.contains($0[0] ?? .none, $0.subject, $0.evaluator)) },
        "eq": comparing(.equal), "equalto": comparing(.equal), "==": comparing(.equal),
        "ne": comparing(.notEqual), "!=": comparing(.notEqual),
        "lt": comparing(.less), "lessthan": comparing(.less), "<": comparing(.less),
        "le": comparing(.lessOrEqual), "<=": comparing(.lessOrEqual),
        "gt": comparing(.greater), "greaterthan": comparing(.greater), ">": comparing(.greater),
        "ge": comparing(.greaterOrEqual), ">=": comparing(.greaterOrEqual),
    ]
}
