import AccelByteIO
import AccelPrograms

/// Comparisons of a result's claims with the key that it is stored under. The compared fields are part of both; the
/// recipe of a package that was made for a target is not, because it holds the chosen schemes.
extension CacheKey {
    private func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    /// Returns how a package's manifest contradicts the key; nil if it does not.
    func contradiction(with manifest: Manifest) -> String? {
        let provenance = manifest.provenance
        let claims = [
            ("tool version", provenance.toolVersion), ("passes", ResultVersions.text(provenance.passVersions)),
            ("shapes", manifest.functions.map(\.name).joined(separator: " ")),
        ]
        if let found = contradiction(claims) { return found }
        let states = provenance.states == .float32 ? nil : provenance.states.rawValue
        let others = [
            ("states", value("option states"), states), ("origin", value("option origin"), provenance.origin),
        ]
        if let found = contradiction(others) { return found }
        if let family = value("family"), !family.isEmpty {
            let found = "\(provenance.family) \(provenance.familyVersion)"
            if found != family { return "family \(found) instead of \(family)" }
        }
        // The key has all codecs that the recipe may choose, the package those that it chose.
        let known = Set((value("codecs") ?? "").parts(between: ", "))
        for (name, version) in provenance.codecVersions.sorted(by: { $0.key < $1.key })
        where !known.contains("\(name) \(version)") {
            return "the codec \(name) \(version), which is none of \(value("codecs") ?? "none")"
        }
        if value("option target") == nil, let found = contradiction(recipe: provenance.recipe) { return found }
        let found = Self.fields(of: provenance.sources)
        return Self.difference(sources, found)
    }

    /// Returns how an export contradicts the key; nil if it does not.
    /// - Parameter provenance: the members `accelc.*` in the exporter's notation.
    public func contradiction(withExport provenance: [String: String]) -> String? {
        if let package = value("package") { return contradiction([("package", package, provenance["accelc.package"])]) }
        let claims = [
            ("tool version", value("tool version"), provenance["accelc.version"]),
            ("shapes", value("shapes"), provenance["accelc.shapes"]),
        ]
        if let found = contradiction(claims) { return found }
        // Weights that the format does not support have rules that precede the requested ones.
        let recipe = try? JSON.parse(ByteView(Array((provenance["accelc.recipe"] ?? "").utf8)), file: "recipe")
        if let found = contradiction(recipe: recipe ?? .null, ignoringFirstRules: true) { return found }
        let prefix = "accelc.source."
        let found = provenance.filter { $0.key.hasPrefix(prefix) }.sorted { $0.key < $1.key }.map {
            Field("source \($0.key.dropFirst(prefix.count))", $0.value)
        }
        // An export has digests only.
        let wanted = sources.map { Field($0.name, String($0.value.suffix(64))) }
        return Self.difference(wanted, found)
    }

    private var sources: [Field] { fields.filter { $0.name.hasPrefix("source ") } }

    private func contradiction(_ claims: [(name: String, found: String)]) -> String? {
        contradiction(claims.map { ($0.name, value($0.name), $0.found) })
    }

    private func contradiction(_ claims: [(name: String, wanted: String?, found: String?)]) -> String? {
        claims.first { $0.wanted != $0.found }.map { claim in
            "\(claim.name) \(claim.found ?? "of nothing") instead of \(claim.wanted ?? "nothing")"
        }
    }

    private func contradiction(recipe found: JSON, ignoringFirstRules: Bool = false) -> String? {
        let text = value("recipe") ?? ""
        guard var wanted = try? JSON.parse(ByteView(Array(text.utf8)), file: "recipe") else { return "no recipe" }
        var found = found
        if ignoringFirstRules {
            let rules = wanted.rules
            wanted.rules = []
            let isSuffix = found.rules.count >= rules.count && Array(found.rules.suffix(rules.count)) == rules
            if isSuffix { found.rules = [] }
        }
        return wanted == found ? nil : "the recipe \(found.text()) instead of \(text)"
    }

    private static func difference(_ wanted: [Field], _ found: [Field]) -> String? {
        guard Set(wanted) != Set(found) else { return nil }
        let name = Set(wanted).symmetricDifference(found).map(\.name).min() ?? "source"
        func text(_ fields: [Field]) -> String { fields.first { $0.name == name }?.value ?? "nothing" }
        return "\(name): \(text(found)) instead of \(text(wanted))"
    }
}

extension JSON {
    /// The member `rules` of an object.
    fileprivate var rules: [JSON] {
        get {
            guard case .object(let members) = self,
                case .array(let rules)? = members.first(where: { $0.key == "rules" })?.value
            else { return [] }
            return rules
        }
        set {
            guard case .object(let members) = self else { return }
            self = .object(members.map { $0.key == "rules" ? JSON.Member("rules", .array(newValue)) : $0 })
        }
    }
}
