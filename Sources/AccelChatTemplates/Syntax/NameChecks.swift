/// Names that Jinja2 checks when a template is compiled, after it is parsed.
struct NameChecks {
    /// Unknown filters and tests. In branches of conditions they are errors only when they are called.
    private var unknown: [[TemplateFailure]] = [[]]
    private var failures: [TemplateFailure] = []
    /// The special names that the bodies of open macros use.
    private var usedNames: [Set<String>] = []

    /// Notes a filter or a test.
    mutating func use(_ kind: String, _ name: String, isKnown: Bool, line: Int) {
        guard !isKnown else { return }
        unknown[unknown.count - 1].append(TemplateFailure(.syntax, "No \(kind) named '\(name)'.", line: line))
    }

    /// Notes an error that is found after parsing.
    mutating func add(_ failure: TemplateFailure) { failures.append(failure) }

    /// The number of unknown names in this scope, to go back to.
    var mark: Int { unknown[unknown.count - 1].count }

    /// Forgives the unknown names since a mark: they are in a branch.
    mutating func forgive(since mark: Int) {
        unknown[unknown.count - 1].removeLast(unknown[unknown.count - 1].count - mark)
    }

    /// Starts a scope, whose unknown names are errors even in a branch.
    mutating func openScope() { unknown.append([]) }
    mutating func closeScope() { failures += unknown.removeLast() }

    /// Notes the use of a variable.
    mutating func use(variable name: String) {
        guard ["caller", "kwargs", "varargs"].contains(name) else { return }
        for index in usedNames.indices { usedNames[index].insert(name) }
    }

    mutating func openMacro() { usedNames.append([]) }
    mutating func closeMacro() -> Set<String> { usedNames.removeLast() }

    /// - Throws: the first error.
    func finish() throws {
        if let failure = (failures + unknown[0]).min(by: { ($0.line ?? 0) < ($1.line ?? 0) }) { throw failure }
    }
}
