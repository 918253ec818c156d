import AccelByteIO

/// The fields of a recipe's document, for comparisons: one for each rule.
struct RecipeFacts {
    /// `recipe default`, `recipe rule CONDITIONS` and the recipe's other members by name, with their values.
    private(set) var values: [String: String] = [:]
    /// The names of the rules, in order of precedence.
    private(set) var rules: [String] = []

    init(of recipe: JSON) {
        guard case .object(let members) = recipe else {
            values["recipe"] = recipe.text()
            return
        }
        for member in members {
            if member.key == "rules", case .array(let rules) = member.value {
                for rule in rules { add(rule: rule) }
            } else {
                values["recipe \(member.key)"] = Self.text(member.value)
            }
        }
    }

    private mutating func add(rule: JSON) {
        guard case .object(let members) = rule else { return }
        func list(_ isIncluded: (String) -> Bool) -> String {
            members.filter { isIncluded($0.key) }.map { "\($0.key) \(Self.text($0.value))" }.joined(separator: ", ")
        }
        func isEffect(_ key: String) -> Bool { ["compress", "activations"].contains(key) }
        let conditions = list { !isEffect($0) }
        let name = "recipe rule " + (conditions.isEmpty ? "for all weights" : conditions)
        // Of rules with the same conditions, only the first ever decides.
        guard values[name] == nil else { return }
        values[name] = list(isEffect)
        rules.append(name)
    }

    /// Returns the first rules that both recipes have, where their order differs; nil if it does not.
    func orderDifference(from other: RecipeFacts) -> (own: String, other: String)? {
        zip(rules.filter { other.rules.contains($0) }, other.rules.filter { rules.contains($0) }).first { $0 != $1 }
            .map { (own: $0.0, other: $0.1) }
    }

    private static func text(_ value: JSON) -> String {
        if case .string(let text) = value { text } else { value.text() }
    }
}
