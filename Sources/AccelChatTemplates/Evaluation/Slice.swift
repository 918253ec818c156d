/// Slices of sequences, as Python has them.
enum Slice {
    /// Returns the elements from a start up to a stop by a step; none stands for a bound that is left out.
    static func elements(of value: Value, _ bounds: [Value], _ evaluator: Evaluator) throws -> Value {
        switch value {
        case .string(let text): return .string(try pick(text, bounds, evaluator))
        case .markup(let text): return .markup(try pick(text, bounds, evaluator))
        case .list(let items): return try .list(try pick(items.elements, bounds, evaluator))
        case .tuple(let items): return try .tuple(try pick(items.elements, bounds, evaluator))
        case .range(let range):
            let slice = try indices(range.count, bounds)
            let step = range.step.multipliedReportingOverflow(by: slice.step)
            guard !step.overflow else { throw TemplateFailure.overflow() }
            let start = range.start &+ slice.start &* range.step
            return .range(
                try ValueRange(start: start, stop: range.start &+ slice.stop &* range.step, step: step.partialValue))
        case .undefined(let undefined): throw undefined.failure
        case .dict: throw TemplateFailure.type("unhashable type: 'slice'")
        default: throw TemplateFailure.type("'\(value.typeName)' object is not subscriptable")
        }
    }

    private static func pick<Element>(
        _ elements: [Element], _ bounds: [Value], _ evaluator: Evaluator
    ) throws -> [Element] {
        let slice = try indices(elements.count, bounds)
        try evaluator.budget.spend(1 + slice.count / 8)
        return (0..<slice.count).map { elements[slice.start + $0 * slice.step] }
    }

    /// Returns the indices of a slice of a sequence.
    private static func indices(
        _ count: Int, _ bounds: [Value]
    ) throws -> (start: Int, stop: Int, step: Int, count: Int) {
        let step = try integer(bounds[2]) ?? 1
        guard step != 0 else { throw TemplateFailure.value("slice step cannot be zero") }
        let range = step > 0 ? 0...count : -1...(count - 1)
        func bound(_ value: Value, _ standard: Int) throws -> Int {
            guard let index = try integer(value) else { return standard }
            return min(max(index < 0 ? index + count : index, range.lowerBound), range.upperBound)
        }
        let start = try bound(bounds[0], step > 0 ? range.lowerBound : range.upperBound)
        let stop = try bound(bounds[1], step > 0 ? range.upperBound : range.lowerBound)
        let distance = step > 0 ? stop - start : start - stop
        let length = distance <= 0 ? 0 : (distance - 1) / Int(clamping: step.magnitude) + 1
        return (start, stop, step, length)
    }

    private static func integer(_ value: Value) throws -> Int? {
        if case .none = value { return nil }
        guard let integer = value.integer else {
            throw TemplateFailure.type("slice indices must be integers or None or have an __index__ method")
        }
        return integer
    }
}
