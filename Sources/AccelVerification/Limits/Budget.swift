public import AccelByteIO
import AccelWeightCompression

/// Limits that a project commits next to its model (schemas/budget.schema.json). Each list is searched in order, and
/// the first entry whose glob matches a name replaces the default limits. An entry that applies to no comparison is a
/// mistake: see `mistakes(in:)`.
///
/// ```json
/// {"outputs": [{"match": "*", "sqnr": 25, "cosine": 0.98}], "weights": [{"match": "*.query.weight", "sqnr": 18}],
///  "operators": [{"match": "encoder.*", "injected": {"sqnr": 15}, "propagated": {"sqnr": 12}}],
///  "size": {"bytes": 12000000, "bitsPerWeight": 4.2, "packageBytes": 13000000},
///  "quality": {"perplexityRatio": 1.1, "equalTopTokens": 0.9}, "memory": {"bytes": 40000000}, "speed": {"relativeToFloat32": 0.9},
///  "together": {"sqnr": 24}, "allow": {"structure": ["assets/vocab.txt"], "notCompared": []}}
/// ```
public struct Budget: Sendable {
    struct Pattern: Sendable {
        let text: String
        let glob: Glob

        func matches(_ name: String) -> Bool { glob.matches(name) }

        /// Returns whether it matches a name that may contain brackets, such as a function's.
        func names(_ name: String) -> Bool { text == name || glob.matches(name) }

        /// Returns whether it matches what was not compared: the whole name, or the output's in it.
        func namesGap(_ name: String) -> Bool {
            guard !names(name), let space = name.lastIndex(of: " ") else { return names(name) }
            let output = String(name[name.index(after: space)...])
            return names(output) || output.hasPrefix("out.") && names(String(output.dropFirst("out.".count)))
        }
    }
    struct Rule: Sendable {
        let match: Pattern
        /// The limits; their origin names the rule.
        let tolerance: Tolerance
    }
    struct OperatorRule: Sendable {
        let match: Pattern
        let injected: Tolerance?
        let propagated: Tolerance?

        init(_ field: JSONField) throws {
            try field.rejectMembers(otherThan: ["match", "injected", "propagated"])
            match = try Budget.pattern(field["match"])
            injected = try Budget.limits(field["injected"])
            propagated = try Budget.limits(field["propagated"])
            guard injected != nil || propagated != nil else {
                throw field.error("sets no limit; give injected or propagated")
            }
        }
    }

    /// The path of the budget, for errors.
    let file: String
    private(set) var outputs: [Rule] = []
    private(set) var weights: [Rule] = []
    private(set) var operators: [OperatorRule] = []
    /// The limits on sizes, memory and speed.
    private(set) var resources: [ResourceLimit] = []
    /// The limits of figures on a text.
    private(set) var quality: [(kind: QualityFinding.Figure.Kind, limit: Double)] = []
    /// The budget limits figures on a text, which a comparison without one does not have.
    public var limitsQuality: Bool { !quality.isEmpty }
    /// Patterns for items that may differ from a conversion of the model.
    private(set) var allowedDifferences: [Pattern] = []
    /// Patterns for the model's outputs that need no comparison.
    private(set) var allowedGaps: [Pattern] = []
    /// The document, as a report repeats it.
    let json: JSON

    /// Creates a budget with one limit: the least SQNR in dB of each output.
    public init(minimumSQNR decibels: Double) {
        let glob = "*"
        file = "the least SQNR"
        json = ["outputs": [["match": .string(glob), "sqnr": .number(decibels)]]]
        outputs =
            Glob(glob).map {
                [
                    Rule(
                        match: Pattern(text: glob, glob: $0),
                        tolerance: Tolerance(sqnr: decibels, origin: "the least SQNR of all outputs"))
                ]
            } ?? []
    }

    /// Reads a budget file.
    public init(path: String) throws { try self.init(JSONField(try JSON.read(path), file: path)) }

    /// Reads a budget.
    /// - Throws: `FormatError` naming the field for an unknown field, a missing `match`, a limit that is not a number,
    ///   or a budget that neither limits nor allows anything; `ReportedErrors` for several.
    public init(_ document: JSONField) throws {
        file = document.file
        json = document.value ?? .null
        var mistakes = Mistakes()
        func entries<Entry>(_ field: JSONField, as entry: (JSONField) throws -> Entry) throws -> [Entry] {
            guard field.exists else { return [] }
            let fields = try mistakes.collecting { try field.array() } ?? []
            return try fields.compactMap { field in try mistakes.collecting { try entry(field) } }
        }
        try mistakes.collecting {
            try document.rejectMembers(otherThan: [
                "$schema", "outputs", "weights", "operators", "size", "memory", "speed", "together", "quality", "allow",
            ])
        }
        outputs = try entries(document["outputs"], as: Self.rule)
        weights = try entries(document["weights"], as: Self.rule)
        operators = try entries(document["operators"], as: OperatorRule.init)
        for group in Self.groups {
            resources += try mistakes.collecting { try Self.resources(document[group.name], group) } ?? []
        }
        quality = try mistakes.collecting { try Self.quality(document["quality"]) } ?? []
        let allow = document["allow"]
        if allow.exists {
            try mistakes.collecting { try allow.rejectMembers(otherThan: ["structure", "notCompared"]) }
            allowedDifferences = try entries(allow["structure"], as: Self.pattern)
            allowedGaps = try entries(allow["notCompared"], as: Self.pattern)
        }
        try mistakes.check()
        let isEmpty =
            outputs.isEmpty && weights.isEmpty && operators.isEmpty && resources.isEmpty && allowedDifferences.isEmpty
            && allowedGaps.isEmpty && quality.isEmpty
        guard !isEmpty else {
            throw FormatError(
                file: document.file,
                reason:
                    "sets no limit; list some under outputs, together, quality, weights, operators, size, memory or speed"
            )
        }
    }

    /// The fields of the budget for resources.
    private static let groups: [(name: String, resources: [(field: String, resource: Resource)])] = [
        ("size", [("bytes", .storedBytes), ("bitsPerWeight", .bitsPerWeight), ("packageBytes", .packageBytes)]),
        ("memory", [("bytes", .memoryBytes)]), ("speed", [("relativeToFloat32", .speed)]),
        ("together", [("sqnr", .together)]),
    ]

    private static func resources(
        _ group: JSONField, _ known: (name: String, resources: [(field: String, resource: Resource)])
    ) throws -> [ResourceLimit] {
        guard group.exists else { return [] }
        let names = known.resources.map(\.field)
        try group.rejectMembers(otherThan: Set(names))
        let limits = try known.resources.filter { group[$0.field].exists }.map { field, resource in
            let isWhole = field.lowercased().hasSuffix("bytes")
            let limit = try isWhole ? Double(group[field].int(in: 0...Int.max)) : group[field].double()
            guard limit >= 0 else { throw group[field].error("is below 0") }
            return ResourceLimit(resource: resource, limit: limit, field: "\(known.name).\(field)")
        }
        guard !limits.isEmpty else {
            let last = names.count > 1 ? names.dropLast().joined(separator: ", ") + " or " : ""
            throw group.error("sets no limit; give \(last)\(names.last ?? "")")
        }
        return limits
    }

    private static func quality(_ field: JSONField) throws -> [(kind: QualityFinding.Figure.Kind, limit: Double)] {
        guard field.exists else { return [] }
        try field.rejectMembers(otherThan: Set(QualityFinding.Figure.Kind.allCases.map(\.rawValue)))
        let limits = try field.members().compactMap { name, limit in
            try QualityFinding.Figure.Kind(rawValue: name).map { ($0, try limit.double()) }
        }
        guard !limits.isEmpty else { throw field.error("sets no limit; give a figure of a text, such as perplexity") }
        return limits
    }

    /// The metrics that a budget can limit.
    private static let metrics: Set<String> = ["sqnr", "maximumError", "relativeL2", "cosine"]

    private static func rule(_ field: JSONField) throws -> Rule {
        try field.rejectMembers(otherThan: metrics.union(["match"]))
        return Rule(match: try pattern(field["match"]), tolerance: try tolerance(field))
    }

    private static func pattern(_ field: JSONField) throws -> Pattern {
        let text = try field.string()
        guard let glob = Glob(text) else {
            throw field.error("\"\(text)\" is not a valid pattern: close its brackets, and order its ranges")
        }
        return Pattern(text: text, glob: glob)
    }

    private static func limits(_ field: JSONField) throws -> Tolerance? {
        guard field.exists else { return nil }
        try field.rejectMembers(otherThan: metrics)
        return try tolerance(field)
    }

    private static func tolerance(_ field: JSONField) throws -> Tolerance {
        func limit(_ name: String) throws -> Double? { field[name].exists ? try field[name].double() : nil }
        let tolerance = Tolerance(
            sqnr: try limit("sqnr"), maximumError: try limit("maximumError"), relativeL2: try limit("relativeL2"),
            cosine: try limit("cosine"), origin: "\(field.path) of the budget")
        if let cosine = tolerance.cosine, cosine > 1 {
            throw field["cosine"].error("is above 1, which no cosine reaches")
        }
        guard
            [tolerance.sqnr, tolerance.maximumError, tolerance.relativeL2, tolerance.cosine].contains(where: {
                $0 != nil
            })
        else { throw field.error("sets no limit; give sqnr, maximumError, relativeL2 or cosine") }
        return tolerance
    }

    func tolerance(forOutput name: String) -> Tolerance? { outputs.first { $0.match.matches(name) }?.tolerance }
    func tolerance(forWeight name: String) -> Tolerance? { weights.first { $0.match.matches(name) }?.tolerance }
    func rule(forOperator label: String) -> OperatorRule? { operators.first { $0.match.matches(label) } }
}
