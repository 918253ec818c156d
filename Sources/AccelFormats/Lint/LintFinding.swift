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

/// Something in a function of a Core ML or Core AI model that the Neural Engine or its kin do not run, or run badly.
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
