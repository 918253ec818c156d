public import AccelByteIO

/// How much a finding matters.
public enum LintSeverity: String, Sendable, Comparable, CaseIterable {
    /// Worth knowing.
    case note
    /// Fails or slows down on some device.
    case warning
    /// Cannot work.
    case error

    public static func < (left: LintSeverity, right: LintSeverity) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}

/// Something in a Core ML function that the Neural Engine or its kin do not run, or run badly.
public struct LintFinding: Sendable, Equatable {
    /// The rule's name, e.g. `AX16`.
    public let rule: String
    /// The severity.
    public let severity: LintSeverity
    /// The function.
    public let function: String
    /// The first value, input or state that it is about.
    public let location: String
    /// The number of such locations in the function.
    public let count: Int
    /// The reason for it, in words.
    public let reason: String
    /// The remedy, in words.
    public let remedy: String
}

extension LintFinding {
    /// The finding with the names of its fields, for reports.
    public var json: JSON {
        [
            "rule": .string(rule), "severity": .string(severity.rawValue), "function": .string(function),
            "location": .string(location), "count": .integer(Int64(count)), "reason": .string(reason),
            "remedy": .string(remedy),
        ]
    }

    /// The finding in a sentence, e.g. `AX16 (warning) in main, logits and 2 more: ...; split the axis`.
    public var text: String {
        let others = count > 1 ? " and \(count - 1) more" : ""
        return "\(rule) (\(severity.rawValue)) in \(function), \(location)\(others): \(reason); \(remedy)"
    }
}

extension [LintFinding] {
    /// The number of findings of each severity with the names of their rules; nil if there are none.
    public var summary: String? {
        let parts = LintSeverity.allCases.reversed().compactMap { severity -> String? in
            let rules = filter { $0.severity == severity }.map(\.rule).distinct
            return rules.isEmpty
                ? nil : "\(Wording.count(rules.count, severity.rawValue)) (\(rules.joined(separator: ", ")))"
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

/// A rule of the linter: what is known to fail or to be slow on some Apple device, by reports to coremltools and others. Nothing is compiled, so that
/// rules judge the program alone; a device decides.
struct LintRule: Sendable {
    /// A location in a function, and what is wrong there.
    typealias Location = (name: String, reason: String)

    let name: String
    let severity: LintSeverity
    let remedy: String
    let locations: @Sendable (LintedFunction) throws -> [Location]

    init(
        _ name: String, _ severity: LintSeverity, remedy: String,
        locations: @escaping @Sendable (LintedFunction) throws -> [Location]
    ) {
        (self.name, self.severity, self.remedy, self.locations) = (name, severity, remedy, locations)
    }

    /// All rules. A new one is a value in a file of this folder, and a name here.
    static let all: [LintRule] = [
        .stateSizes, .statesBesidePalettes, .longAxes, .ranks, .lastAxes, .flexibleShapes, .float32, .infinities,
        .squares, .smallEpsilons, .exponentials, .phases, .cuts, .recurrences, .longSoftmax, .largeFunctions,
        .largeInt8, .sharedNames, .strides,
    ]
}

extension CoreMLPackage {
    /// Returns what the rules of the linter find, the most severe first.
    /// - Throws: `FormatError` if a constant is corrupt.
    public func lint() throws -> [LintFinding] {
        var findings: [LintFinding] = []
        for function in model.program.functions {
            let linted = try LintedFunction(function, of: self)
            for rule in LintRule.all {
                let locations = try rule.locations(linted)
                guard let first = locations.first else { continue }
                findings.append(
                    LintFinding(
                        rule: rule.name, severity: rule.severity, function: function.name, location: first.name,
                        count: locations.count, reason: first.reason, remedy: rule.remedy))
            }
        }
        return findings.enumerated().sorted { ($1.element.severity, $0.offset) < ($0.element.severity, $1.offset) }
            .map(\.element)
    }
}
