public import ByteIO
import Foundation

/// Limits that a project commits beside its model (schemas/budget.schema.json). Each list is searched in order, and the
/// first entry whose glob fits a name gives its limits; they take the place of the default ones.
///
///     {"outputs": [{"match": "*", "sqnr": 25}], "weights": [{"match": "*.query.weight", "sqnr": 18}],
///      "operators": [{"match": "encoder.*", "injected": {"sqnr": 15}, "propagated": {"sqnr": 12}}],
///      "size": {"bytes": 12000000, "bitsPerWeight": 4.2}}
public struct Budget: Sendable {
    struct Rule: Sendable {
        var match: String
        var tolerance: Tolerance
    }
    struct OperatorRule: Sendable {
        var match: String
        var injected: Tolerance?
        var propagated: Tolerance?
    }

    var outputs: [Rule] = []
    var weights: [Rule] = []
    var operators: [OperatorRule] = []
    /// Bytes of all stored weights, at most.
    var bytes: Int?
    /// Bits a weight over all stored weights, at most.
    var bitsPerWeight: Double?
    /// The document, as a report repeats it.
    let json: JSON

    /// Reads a budget file.
    public init(path: String) throws { try self.init(JSONField(try JSON.read(path), file: path)) }

    /// - Throws: `FormatError` naming the field for an unknown one, a missing `match`, or a limit that is no number.
    public init(_ document: JSONField) throws {
        json = document.value ?? .null
        try document.refuseMembers(otherThan: ["$schema", "outputs", "weights", "operators", "size"])
        outputs = try Self.rules(document["outputs"])
        weights = try Self.rules(document["weights"])
        if document["operators"].exists {
            operators = try document["operators"].array().map { field in
                try field.refuseMembers(otherThan: ["match", "injected", "propagated"])
                return OperatorRule(
                    match: try field["match"].string(), injected: try Self.limits(field["injected"]),
                    propagated: try Self.limits(field["propagated"]))
            }
        }
        let size = document["size"]
        if size.exists {
            try size.refuseMembers(otherThan: ["bytes", "bitsPerWeight"])
            bytes = size["bytes"].exists ? try size["bytes"].int(in: 0...Int.max) : nil
            bitsPerWeight = size["bitsPerWeight"].exists ? try size["bitsPerWeight"].double() : nil
        }
    }

    private static let figures: Set<String> = ["sqnr", "maximumError", "relativeL2"]

    private static func rules(_ field: JSONField) throws -> [Rule] {
        guard field.exists else { return [] }
        return try field.array().map { rule in
            try rule.refuseMembers(otherThan: figures.union(["match"]))
            return Rule(match: try rule["match"].string(), tolerance: try tolerance(rule))
        }
    }

    private static func limits(_ field: JSONField) throws -> Tolerance? {
        guard field.exists else { return nil }
        try field.refuseMembers(otherThan: figures)
        return try tolerance(field)
    }

    private static func tolerance(_ field: JSONField) throws -> Tolerance {
        func limit(_ name: String) throws -> Double? { field[name].exists ? try field[name].double() : nil }
        let tolerance = Tolerance(
            sqnr: try limit("sqnr"), maximumError: try limit("maximumError"), relativeL2: try limit("relativeL2"),
            origin: "the budget")
        guard tolerance.sqnr != nil || tolerance.maximumError != nil || tolerance.relativeL2 != nil else {
            throw field.error("sets no limit; give sqnr, maximumError or relativeL2")
        }
        return tolerance
    }

    func tolerance(forOutput name: String) -> Tolerance? { outputs.first { matches($0.match, name) }?.tolerance }
    func tolerance(forWeight name: String) -> Tolerance? { weights.first { matches($0.match, name) }?.tolerance }
    func rule(forOperator label: String) -> OperatorRule? { operators.first { matches($0.match, label) } }

    private func matches(_ glob: String, _ name: String) -> Bool { fnmatch(glob, name, 0) == 0 }
}
