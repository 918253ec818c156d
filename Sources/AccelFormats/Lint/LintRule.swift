/// A rule of the linter: what is known to fail or to be slow on some Apple device, by reports to coremltools and others. Nothing is compiled, so that
/// rules judge the program alone; a device decides.
struct LintRule<Function>: Sendable {
    /// A location in a function, and what is wrong there.
    typealias Location = (name: String, reason: String)

    let name: String
    let severity: LintSeverity
    let remedy: String
    let locations: @Sendable (Function) throws -> [Location]

    init(
        _ name: String, _ severity: LintSeverity, remedy: String,
        locations: @escaping @Sendable (Function) throws -> [Location]
    ) {
        (self.name, self.severity, self.remedy, self.locations) = (name, severity, remedy, locations)
    }
}

/// The rules of both formats.
extension LintRule {
    /// The size of a tensor, and how reports name it.
    typealias Sized = (name: String, text: String, sizes: [Int])

    /// coremltools #1723, #1330, #2291.
    static func ranks(of tensors: @escaping @Sendable (Function) -> [Sized]) -> LintRule {
        LintRule("RK5", .error, remedy: "merge axes before the operation, and split them after it") {
            tensors($0).filter { $0.sizes.count > 5 }.map { ($0.name, "\($0.text) has more than five axes") }
        }
    }

    /// coremltools #1003, #283; 65,536 from A16 on.
    static func longAxes(of tensors: @escaping @Sendable (Function) -> [Sized]) -> LintRule {
        LintRule("AX16", .warning, remedy: "split the axis: a head by its vocabulary, a sequence by chunks") {
            function in
            tensors(function).compactMap { tensor in
                guard let size = tensor.sizes.first(where: { $0 > 16_384 }) else { return nil }
                return (
                    tensor.name, "\(tensor.text) has an axis of \(size), and the Neural Engine up to A15 has 16384"
                )
            }
        }
    }
}

extension [LintFinding] {
    /// Applies rules to functions, and sorts the findings by severity.
    init<Function>(_ rules: [LintRule<Function>], in functions: [(name: String, function: Function)]) throws {
        var findings: [LintFinding] = []
        for (name, function) in functions {
            for rule in rules {
                let locations = try rule.locations(function)
                guard let first = locations.first else { continue }
                findings.append(
                    LintFinding(
                        rule: rule.name, severity: rule.severity, function: name, location: first.name,
                        count: locations.count, reason: first.reason, remedy: rule.remedy))
            }
        }
        self = findings.enumerated()
            .sorted { ($1.element.severity, $0.offset) < ($0.element.severity, $1.offset) }.map(\.element)
    }
}
