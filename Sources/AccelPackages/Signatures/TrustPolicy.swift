public import AccelByteIO
import AccelWeightCompression

/// Whose signature a package needs, by where it comes from (schemas/trust.schema.json). The first rule whose pattern fits
/// counts; a package that no rule fits is refused.
public struct TrustPolicy: Sendable {
    public struct Rule: Sendable {
        /// A pattern over absolute paths. A package's own words count for nothing here: they are what is in question.
        let origin: Glob
        /// Any one of them will do.
        public let identities: [String]
        /// An unsigned package will do, if the command line says so too.
        public let allowsUnsigned: Bool
    }
    /// The path of the file that tells whose keys are whose.
    public let allowedSigners: String
    private let rules: [Rule]
    private let file: String

    /// - Throws: `FormatError` for what is no policy; `RequestError` when the file cannot be read.
    public init(_ path: String) throws {
        try self.init(try MappedFile(path).bytes, file: path)
    }

    public init(_ bytes: ByteView, file: String) throws {
        guard bytes.count <= 16 << 20 else {
            throw FormatError(file: file, reason: "has \(bytes.count) bytes, which is too much for a trust policy")
        }
        let document = JSONField(try JSON.parse(bytes, file: file), file: file)
        try document.refuseMembers(otherThan: ["allowedSigners", "rules"])
        let signers = try document["allowedSigners"].string()
        // Beside the policy, unless it says where.
        allowedSigners = signers.hasPrefix("/") ? signers : "\(Files.parentFolder(of: file) ?? ".")/\(signers)"
        rules = try document["rules"].array().map { rule in
            try rule.refuseMembers(otherThan: ["origin", "identities", "unsigned"])
            let text = try rule["origin"].string()
            guard let origin = Glob(text) else {
                throw rule["origin"].error("is no pattern: a bracket stays open, or a range runs backwards")
            }
            if let objection = Self.objection(toOrigin: text) { throw rule["origin"].error(objection) }
            let identities = rule["identities"].exists ? try rule["identities"].array().map { try $0.string() } : []
            let allowsUnsigned = rule["unsigned"].exists ? try rule["unsigned"].bool() : false
            guard identities.isEmpty != !allowsUnsigned, !identities.contains("") else {
                throw rule.error("expected either identities or \"unsigned\": true")
            }
            return Rule(origin: origin, identities: identities, allowsUnsigned: allowsUnsigned)
        }
        self.file = file
    }

    /// Why a pattern fits no real path, and so would never count; nil when it may.
    private static func objection(toOrigin text: String) -> String? {
        guard let first = text.first, "/*?[".contains(first) else {
            return "fits no absolute path; begin it with / or *"
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard let odd = parts.first(where: { ["", ".", ".."].contains($0) }) else { return nil }
        return odd.isEmpty
            ? "fits no path: paths have no doubled slashes, and none at their end"
            : "fits no path: paths are resolved, and have no \"\(odd)\" in them"
    }

    /// The rule for a package that is held open, by where it really lies: the words that led to it count for nothing.
    /// - Throws: `FormatError` when there is none: such a package is not trusted.
    public func rule(for package: OpenedPath) throws -> Rule {
        try rule(forRealPath: package.realPath)
    }

    package func rule(forRealPath path: String) throws -> Rule {
        guard let rule = rules.first(where: { $0.origin.matches(path) }) else {
            throw FormatError(file: path, reason: "no rule of \(file) is for packages from there; it is not trusted")
        }
        return rule
    }
}
