public import AccelByteIO

/// The model for which a package was signed, as its signature states it. Signatures of earlier versions state nothing.
public struct SignedRelease: Equatable, Sendable {
    /// The name of the model; nil if the signature is for any model.
    public let name: String?
    /// A counter: a later release of the model has a higher one. Only with a name.
    public let version: Int?

    /// The versions: numbers that every JSON reader reads exactly.
    public static let versions = 1...(1 << 53 - 1)
    private static let nameBytes = 1...100

    /// A signature that states nothing.
    public static let unstated = SignedRelease()

    private init() { (name, version) = (nil, nil) }

    /// The release of a model.
    /// - Throws: `RequestError` for a name that is empty, longer than 100 bytes, or has control characters, and for a
    ///   version out of range.
    public init(name: String, version: Int? = nil) throws(RequestError) {
        if let reason = Self.reason(name) { throw RequestError("the name of a model \(reason)") }
        if let version, !Self.versions.contains(version) {
            throw RequestError(
                "the version of a model is a number from \(Self.versions.lowerBound) to \(Self.versions.upperBound); found \(version)"
            )
        }
        (self.name, self.version) = (name, version)
    }

    /// Returns why a name is none; nil if it is one.
    private static func reason(_ name: String) -> String? {
        guard nameBytes.contains(name.utf8.count) else {
            return "has \(nameBytes.lowerBound) to \(nameBytes.upperBound) bytes; found \(name.utf8.count)"
        }
        return name.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
            ? "has no control characters" : nil
    }

    /// The members of a document that states the release.
    var members: [JSON.Member] {
        (name.map { [JSON.Member("name", .string($0))] } ?? [])
            + (version.map { [JSON.Member("version", .integer(Int64($0)))] } ?? [])
    }

    /// Reads the members `name` and `version` of a document.
    init(_ document: JSONField) throws {
        guard document["name"].exists else {
            guard !document["version"].exists else {
                throw document["version"].error("states a version without a name")
            }
            self = .unstated
            return
        }
        let name = try document["name"].string()
        if let reason = Self.reason(name) { throw document["name"].error(reason) }
        (self.name, version) = (
            name, document["version"].exists ? try document["version"].int(in: Self.versions) : nil
        )
    }

    /// The name and the version, for messages: `"assistant", version 7`.
    public var words: String {
        guard let name else { return "no model" }
        return quoted(name) + (version.map { ", version \($0)" } ?? "")
    }
}

/// The statement that an SSH signature signs in place of manifest.json: the digest of that file with a name and a version.
/// One line of JSON behind the signature, in the same file.
struct ReleaseStatement: Equatable, Sendable {
    private static let type = "accelc-package-statement@v1"

    /// SHA-256 of manifest.json.
    let manifest: Digest
    let release: SignedRelease

    /// The line that is signed, with its end.
    var text: String {
        let members = [
            JSON.Member("_type", .string(Self.type)), JSON.Member("manifest", .string(manifest.description)),
        ]
        return JSON.object(members + release.members).text() + "\n"
    }

    init(manifest: Digest, release: SignedRelease) { (self.manifest, self.release) = (manifest, release) }

    /// Reads a statement.
    /// - Throws: `FormatError` for another document.
    init(_ line: ByteView, file: String) throws {
        let document = JSONField(try JSON.parse(line, file: file), file: file)
        try document.rejectMembers(otherThan: ["_type", "manifest", "name", "version"])
        guard try document["_type"].string() == Self.type else {
            throw document["_type"].error("expected \"\(Self.type)\", found \(quoted(try document["_type"].string()))")
        }
        (manifest, release) = (try document["manifest"].digest(), try SignedRelease(document))
    }
}

extension AcceleratorPackage {
    /// Returns the content that an SSH signature of this package for a release signs: manifest.json, or a line that is to follow
    /// the signature in its file.
    public func signedContent(for release: SignedRelease) throws -> ByteView {
        let manifest = try signedManifest
        guard release != .unstated else { return manifest }
        let statement = ReleaseStatement(manifest: SHA256.digest(of: manifest), release: release)
        return ByteView(Array(statement.text.utf8))
    }

    /// Returns the content that an SSH signature has to be of, and the release that it states.
    /// - Parameter file: the path of the signature, for errors.
    /// - Throws: `FormatError` for a signature with the statement of another package.
    public func signedContent(
        of signature: SSHSignature, file: String
    ) throws -> (content: ByteView, release: SignedRelease) {
        let manifest = try signedManifest
        guard let statement = signature.statement, let line = signature.statementLine else {
            return (manifest, .unstated)
        }
        let digest = SHA256.digest(of: manifest)
        guard statement.manifest == digest else {
            throw FormatError(
                file: file,
                reason: "states that manifest.json has SHA-256 \(statement.manifest), but this package's has \(digest)")
        }
        return (line, statement.release)
    }
}
