/// The steps and the depth of a rendering, counted against its limits.
final class Budget {
    let limits: ChatTemplateLimits
    private var steps = 0
    private var depth = 0

    init(_ limits: ChatTemplateLimits) { self.limits = limits }

    /// Counts steps.
    /// - Throws: `TemplateFailure` if they exceed the limit.
    func spend(_ count: Int = 1) throws {
        steps += count
        guard steps <= limits.steps else {
            throw TemplateFailure(.limit, "the template takes more than \(limits.steps) steps")
        }
    }

    /// Counts the steps of an operation on a text.
    func spend(on text: Text) throws { try spend(1 + text.count / 8) }

    /// Checks the size of a text before it is made, and counts the steps of making it.
    /// - Parameter adding: the scalars that are added to others; nil for all.
    func spend(scalars: Int, adding: Int? = nil) throws {
        guard scalars <= limits.output else {
            throw TemplateFailure(.limit, "a text has more than \(limits.output) characters")
        }
        try spend(1 + (adding ?? scalars) / 8)
    }

    /// Evaluates one level deeper.
    /// - Throws: `TemplateFailure` if the depth exceeds the limit.
    func descend<Result>(_ body: () throws -> Result) throws -> Result {
        depth += 1
        guard depth <= limits.depth else {
            throw TemplateFailure(.limit, "the template nests calls more than \(limits.depth) levels deep")
        }
        let result = try body()
        depth -= 1
        return result
    }
}
