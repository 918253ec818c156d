import AccelByteIO

/// A file of a repository at a commit.
struct HubFile: Equatable, Sendable {
    /// The path in the repository.
    var path: String
    /// The size in bytes; nil if it is not known yet.
    var byteCount: Int?
    /// The digest of the content; nil if it is not known yet.
    var digest: ContentDigest?
}

/// The files of a repository at a commit. Files whose names are not safe as paths are left out.
struct HubListing: Equatable, Sendable {
    var commit: String
    /// The files by path.
    var files: [String: HubFile]

    init(commit: String, files: [HubFile]) {
        self.commit = commit
        self.files = Dictionary(files.filter { HubName.isPath($0.path) }.map { ($0.path, $0) }) { first, _ in first }
    }

    /// Parses the server's description of a model: `sha` and `siblings`.
    /// - Throws: `FormatError` naming the field.
    init(answer: JSONField) throws {
        let commit = try answer["sha"].string()
        guard HubName.isCommit(commit) else { throw answer["sha"].error("expected a commit hash") }
        let files = try answer["siblings"].array().map { sibling in
            let large = sibling["lfs"]
            return HubFile(
                path: try sibling["rfilename"].string(),
                byteCount: try Self.byteCount(large.exists ? large["size"] : sibling["size"]),
                digest: try Self.digest(large.exists ? large["sha256"] : sibling["blobId"]))
        }
        self.init(commit: commit, files: files)
    }

    private static func byteCount(_ field: JSONField) throws -> Int? {
        field.exists ? try field.int(in: 0...Int.max) : nil
    }

    private static func digest(_ field: JSONField) throws -> ContentDigest? {
        guard field.exists else { return nil }
        guard let digest = ContentDigest(etag: try field.string()) else { throw field.error("expected a digest") }
        return digest
    }

    /// Parses the record of a listing in the cache.
    init(record: JSONField, commit: String) throws {
        guard try record["format_version"].int() == Self.recordVersion else {
            throw record["format_version"].error("unknown version")
        }
        let files = try record["files"].members().map { path, file in
            let isLarge = file["lfs_sha256"].exists
            return HubFile(
                path: path, byteCount: try Self.byteCount(file[isLarge ? "lfs_size" : "size"]),
                digest: try Self.digest(file[isLarge ? "lfs_sha256" : "blob_id"]))
        }
        self.init(commit: commit, files: files)
    }

    private static let recordVersion = 1

    /// The record of the listing, in the form of Hugging Face's own library.
    var record: JSON {
        let files = files.values.sorted { $0.path < $1.path }.map { file in
            var members: [JSON.Member] = []
            let size = file.byteCount.map { JSON.integer(Int64($0)) }
            if let size { members.append(.init("size", size)) }
            switch file.digest {
            case .sha256(let digits)?:
                members.append(.init("lfs_sha256", .string(digits)))
                if let size { members.append(.init("lfs_size", size)) }
            case .gitBlob(let digits)?: members.append(.init("blob_id", .string(digits)))
            case nil: break
            }
            return JSON.Member(file.path, .object(members))
        }
        return .object([.init("format_version", .integer(Int64(Self.recordVersion))), .init("files", .object(files))])
    }
}
