public import AccelByteIO
import AccelWeightCompression

/// The signatures that packages need, by origin (schemas/trust.schema.json). The first rule whose pattern matches
/// applies; a package without a rule is rejected.
public struct TrustPolicy: Sendable {
    /// A rule for packages of one origin.
    public struct Rule: Sendable {
        /// A pattern over absolute paths. Claims of the package itself are ignored, because they are not trusted yet.
        let origin: Glob
        /// The accepted signers; one of them suffices.
        public let identities: [String]
        /// Unsigned packages are accepted, if the command line allows that, too.
        public let allowsUnsigned: Bool
        /// The name that the signature has to state; nil for any, or none.
        public let name: String?
        /// The lowest version that the signature may state; nil for any, or none.
        public let minimumVersion: Int?

        /// Checks the release that a signature states.
        /// - Throws: `FormatError` naming `file` if the rule asks for another one.
        public func check(_ release: SignedRelease, file: String) throws {
            if let name, release.name != name {
                throw FormatError(
                    file: file, reason: "is signed for \(release.words); the policy asks for \(quoted(name))")
            }
            if let minimumVersion, (release.version ?? 0) < minimumVersion {
                let found = release.version.map { "version \($0)" } ?? "no version"
                throw FormatError(
                    file: file, reason: "is signed for \(found); the policy asks for \(minimumVersion) or a later one")
            }
        }
    }
    /// The path of the file with the signers' public keys.
    public let allowedSigners: String
    private let rules: [Rule]
    private let file: String

    /// Reads a policy file.
    /// - Throws: `FormatError` for an invalid policy; `RequestError` if the file cannot be read.
    public init(_ path: String) throws {
        try self.init(try MappedFile(path).bytes, file: path)
    }

    /// Reads a policy in memory.
    /// - Throws: `FormatError` for an invalid policy.
    public init(_ bytes: ByteView, file: String) throws {
        guard bytes.count <= 16 << 20 else {
            throw FormatError(file: file, reason: "has \(bytes.count) bytes, more than the limit for trust policies")
        }
        let document = JSONField(try JSON.parse(bytes, file: file), file: file)
        try document.rejectMembers(otherThan: ["allowedSigners", "rules"])
        let signers = try document["allowedSigners"].string()
        // Relative to the policy's folder.
        allowedSigners = signers.hasPrefix("/") ? signers : "\(Files.parentFolder(of: file) ?? ".")/\(signers)"
        rules = try document["rules"].array().map { rule in
            try rule.rejectMembers(otherThan: ["origin", "identities", "unsigned", "name", "minimumVersion"])
            let text = try rule["origin"].string()
            guard let origin = Glob(text) else {
                throw rule["origin"].error("is not a valid pattern: close its brackets, and order its ranges")
            }
            if let rejectionReason = Self.rejectionReason(forOrigin: text) {
                throw rule["origin"].error(rejectionReason)
            }
            let identities = rule["identities"].exists ? try rule["identities"].array().map { try $0.string() } : []
            let allowsUnsigned = rule["unsigned"].exists ? try rule["unsigned"].bool() : false
            guard identities.isEmpty != !allowsUnsigned, !identities.contains("") else {
                throw rule.error("expected either identities or \"unsigned\": true")
            }
            let (name, minimum) = (rule["name"], rule["minimumVersion"])
            if allowsUnsigned, let field = [name, minimum].first(where: { $0.exists }) {
                throw field.error("asks something of a signature, but the rule asks for none")
            }
            return Rule(
                origin: origin, identities: identities, allowsUnsigned: allowsUnsigned,
                name: name.exists ? try name.string() : nil,
                minimumVersion: minimum.exists ? try minimum.int(in: SignedRelease.versions) : nil)
        }
        self.file = file
    }

    /// Returns why a pattern cannot match any absolute path; nil if it can.
    private static func rejectionReason(forOrigin text: String) -> String? {
        guard let first = text.first, "/*?[".contains(first) else {
            return "fits no absolute path; begin it with / or *"
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard let odd = parts.first(where: { ["", ".", ".."].contains($0) }) else { return nil }
        return odd.isEmpty
            ? "fits no path: paths have no doubled slashes, and none at their end"
            : "fits no path: paths are resolved, and have no \"\(odd)\" in them"
    }

    /// Returns the rule for an open package, by its real location; the path that led to it is ignored.
    /// - Throws: `FormatError` if there is none, because the package is then not trusted.
    public func rule(for package: OpenedPath) throws -> Rule {
        try rule(forRealPath: package.realPath)
    }

    package func rule(forRealPath path: String) throws -> Rule {
        guard let rule = rules.first(where: { $0.origin.matches(path) }) else {
            throw FormatError(
                file: path, reason: "no rule of \(file) applies to packages at this location, so it is not trusted")
        }
        return rule
    }
}
