public import AccelByteIO
import Foundation

/// The part of JSON Schema (2020-12) that the schemas in `schemas/` use. A keyword that it does not know is an error, so
/// that a schema cannot promise what no test checks.
public struct JSONSchema {
    private let root: JSON

    /// - Parameter name: of a file in `schemas/`.
    public init(named name: String) throws {
        let folder = Fixtures.testsFolder.deletingLastPathComponent().appending(path: "schemas")
        root = try JSON.read(folder.appending(path: name).path)
    }

    public init(_ document: JSON) { root = document }

    /// What of `value` the schema does not allow, with the place; empty when it is valid.
    public func violations(of value: JSON) -> [String] { violations(of: value, schema: root, at: "$") }

    private func violations(of value: JSON, schema: JSON, at place: String) -> [String] {
        guard case .object(let members) = schema else { return schema == .bool(false) ? ["\(place): not allowed"] : [] }
        return members.flatMap { keyword in
            violation(keyword.key, keyword.value, schema: schema, of: value, at: place)
        }
    }

    private func violation(_ keyword: String, _ wanted: JSON, schema: JSON, of value: JSON, at place: String)
        -> [String]
    {
        switch keyword {
        case "$schema", "$id", "$defs", "$comment", "title", "description", "default", "examples": return []
        case "$ref":
            guard case .string(let path) = wanted else { return ["\(place): $ref is no string"] }
            let target = path.split(separator: "/").dropFirst().reduce(Optional(root)) { $0?[String($1)] }
            return target.map { violations(of: value, schema: $0, at: place) } ?? ["\(place): \(path) is not defined"]
        case "type":
            let names = strings(wanted)
            return names.contains { isOf(type: $0, value) }
                ? [] : ["\(place): is no \(names.joined(separator: " or "))"]
        case "const": return value == wanted ? [] : ["\(place): is not \(wanted.text())"]
        case "enum": return elements(wanted).contains(value) ? [] : ["\(place): is none of \(wanted.text())"]
        case "pattern":
            guard case .string(let text) = value, case .string(let pattern) = wanted else { return [] }
            return text.range(of: pattern, options: .regularExpression) == nil
                ? ["\(place): does not match \(pattern)"] : []
        case "minimum": return number(value).map { $0 >= (number(wanted) ?? 0) } ?? true ? [] : ["\(place): too small"]
        case "maximum": return number(value).map { $0 <= (number(wanted) ?? 0) } ?? true ? [] : ["\(place): too large"]
        case "exclusiveMinimum":
            return number(value).map { $0 > (number(wanted) ?? 0) } ?? true ? [] : ["\(place): too small"]
        case "minLength":
            guard case .string(let text) = value else { return [] }
            return Double(text.count) >= (number(wanted) ?? 0) ? [] : ["\(place): too short"]
        case "minItems":
            guard case .array(let items) = value else { return [] }
            return Double(items.count) >= (number(wanted) ?? 0) ? [] : ["\(place): too few items"]
        case "maxItems":
            guard case .array(let items) = value else { return [] }
            return Double(items.count) <= (number(wanted) ?? 0) ? [] : ["\(place): too many items"]
        case "minProperties":
            guard case .object(let members) = value else { return [] }
            return Double(members.count) >= (number(wanted) ?? 0) ? [] : ["\(place): too few members"]
        case "items":
            guard case .array(let items) = value else { return [] }
            return items.enumerated().flatMap { violations(of: $1, schema: wanted, at: "\(place)[\($0)]") }
        case "required":
            guard case .object = value else { return [] }
            return strings(wanted).filter { value[$0] == nil }.map { "\(place): \($0) is missing" }
        case "properties":
            guard case .object(let members) = value else { return [] }
            return members.flatMap { member in
                wanted[member.key].map { violations(of: member.value, schema: $0, at: "\(place).\(member.key)") } ?? []
            }
        case "additionalProperties":
            guard case .object(let members) = value else { return [] }
            return members.filter { schema["properties"]?[$0.key] == nil }.flatMap {
                violations(of: $0.value, schema: wanted, at: "\(place).\($0.key)")
            }
        case "oneOf", "anyOf":
            let fitting = elements(wanted).count { violations(of: value, schema: $0, at: place).isEmpty }
            return fitting == 1 || (keyword == "anyOf" && fitting > 1)
                ? [] : ["\(place): fits \(fitting) of \(keyword)"]
        case "allOf": return elements(wanted).flatMap { violations(of: value, schema: $0, at: place) }
        default: return ["\(place): the schema uses \(keyword), which this check does not know"]
        }
    }

    private func isOf(type: String, _ value: JSON) -> Bool {
        switch (type, value) {
        case ("null", .null), ("boolean", .bool), ("integer", .integer), ("number", .integer), ("number", .number),
            ("string", .string), ("array", .array), ("object", .object):
            true
        default: false
        }
    }

    private func number(_ value: JSON) -> Double? {
        switch value {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        default: nil
        }
    }

    private func elements(_ value: JSON) -> [JSON] {
        if case .array(let elements) = value { elements } else { [value] }
    }

    private func strings(_ value: JSON) -> [String] {
        elements(value).compactMap { if case .string(let text) = $0 { text } else { nil } }
    }
}
