package import AccelByteIO

/// The versions of one model in a store: a sealed document. Replacing it is the one step by which a version becomes current.
package struct StoreRecord: Equatable, Sendable {
    /// How far the current version has been tried.
    package enum Standing: String, Sendable {
        /// It has not run yet.
        case untried
        /// It is being opened or run for the first time. If no process does so any more, that one failed.
        case trying
        /// A run succeeded.
        case proven
    }
    /// The name of the model.
    package let name: String
    /// The digest of the current version's package.
    package var current: Digest
    /// How far the current version has been tried.
    package var standing: Standing
    /// The versions to go back to, the latest first.
    package var earlier: [Digest]
    /// The releases that signatures state, by version, for the versions whose signatures were requested.
    package var releases: [Digest: SignedRelease]

    package init(
        name: String, current: Digest, standing: Standing = .untried, earlier: [Digest] = [],
        releases: [Digest: SignedRelease] = [:]
    ) {
        (self.name, self.current, self.standing, self.earlier) = (name, current, standing, earlier)
        self.releases = releases
    }

    /// All versions that the record names.
    package var versions: [Digest] { [current] + earlier }

    var text: String {
        var members = [
            JSON.Member("model", .string(name)), JSON.Member("current", .string(current.description)),
            JSON.Member("standing", .string(standing.rawValue)),
            JSON.Member("earlier", .array(earlier.map { .string($0.description) })),
        ]
        let stated = versions.compactMap { version -> JSON.Member? in
            guard let release = releases[version], release != .unstated else { return nil }
            return JSON.Member(version.description, .object(release.members))
        }
        if !stated.isEmpty { members.append(JSON.Member("signed", .object(stated))) }
        return SealedDocument.text(of: .object(members))
    }

    /// Reads a record.
    /// - Throws: `FormatError` for a document that was changed, or that is not a record.
    init(_ bytes: ByteView, file: String) throws {
        _ = try SealedDocument.checkedDigest(of: bytes, file: file)
        let document = JSONField(try JSON.parse(bytes, file: file), file: file)
        let word = try document["standing"].string()
        guard let standing = Standing(rawValue: word) else {
            throw document["standing"].error("\(quoted(word)) is no standing of a version")
        }
        self.init(
            name: try document["model"].string(), current: try document["current"].digest(), standing: standing,
            earlier: try document["earlier"].array().map { try $0.digest() })
        guard document["signed"].exists else { return }
        for version in versions {
            let stated = document["signed"][version.description]
            if stated.exists { releases[version] = try SignedRelease(stated) }
        }
    }
}

extension OutputKind {
    /// The record of a model in a store.
    static let storeRecord = OutputKind.file("the record of a model store") { path in
        _ = try StoreRecord(try MappedFile(path, followsLink: false).bytes, file: path)
        return nil
    }
}
