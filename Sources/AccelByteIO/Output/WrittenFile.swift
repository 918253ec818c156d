/// A file of an output as accelc wrote it. If the user changed the file since, it is not replaced.
public struct WrittenFile: Sendable {
    let name: String
    let byteCount: Int
    /// The `TreeDigest` of its bytes; nil if only the size is known.
    let digest: Digest?

    /// The largest size that is compared by content; larger files are compared by size, because the check has to be
    /// fast.
    public static let comparedBytes = 1 << 20

    /// Creates a record of a file that accelc writes.
    public init(name: String, byteCount: Int, digest: Digest?) {
        (self.name, self.byteCount, self.digest) = (name, byteCount, digest)
    }

    /// Returns why a file of this name differs from the one that accelc wrote; nil if it does not.
    public func change(in content: ByteView) -> String? {
        let isSame =
            content.count == byteCount
            && (byteCount > Self.comparedBytes || digest.map { $0 == TreeDigest.digest(of: content) } ?? true)
        return isSame ? nil : Self.change(of: name)
    }

    /// Returns the reason for a changed file.
    public static func change(of name: String) -> String { "\(name) was changed after accelc wrote it" }
}

/// The document of an output folder. It lists the files beside it, and its last member is its own digest.
public enum WrittenDocument {
    /// Returns the text of the document.
    /// - Parameters:
    ///   - members: the other members of the document.
    ///   - names: the names of the files in the folder.
    ///   - digests: the digests of files that `AtomicFile.commitListed` gave; the others are read.
    public static func text(
        of members: [JSON.Member], listing names: [String], digests: [String: Digest] = [:], in folder: String
    ) throws -> String {
        let files = try names.sorted().map { name -> JSON in
            let content = try MappedFile(name, inside: folder).bytes
            return [
                "name": .string(name), "bytes": .integer(Int64(content.count)),
                "digest": .string((digests[name] ?? TreeDigest.digest(of: content)).description),
            ]
        }
        let body = members + [JSON.Member("files", .array(files))]
        return JSON.object(body + [JSON.Member("digest", .string(try digest(of: body)))]).text(pretty: true)
    }

    /// Returns why the document, or a file that it lists, differs from what accelc wrote; nil if none does. A missing
    /// file is not a reason, because replacing the folder loses nothing of it.
    public static func change(of name: String, in folder: String) throws -> String? {
        let path = "\(folder)/\(name)"
        let value = try JSON.read(path)
        let document = JSONField(value, file: path)
        guard case .object(let members) = value, members.last?.key == "digest", document["files"].exists else {
            return "\(name) does not list the files beside it, as this version of accelc writes it"
        }
        guard try document["digest"].string() == digest(of: members.dropLast()) else {
            return WrittenFile.change(of: name)
        }
        for file in try document["files"].array() {
            let written = WrittenFile(
                name: try file["name"].string(), byteCount: try file["bytes"].int(in: 0...Int.max),
                digest: Digest(hexadecimal: try file["digest"].string()))
            guard Files.kindWithoutFollowing("\(folder)/\(written.name)") != nil else { continue }
            if let change = written.change(in: try MappedFile(written.name, inside: folder).bytes) { return change }
        }
        return nil
    }

    /// Returns the digest of the members as they will be read again.
    private static func digest(of members: some Sequence<JSON.Member>) throws -> String {
        let text = JSON.object(Array(members)).text()
        return SHA256.digest(of: try JSON.parse(ByteView(Array(text.utf8)), file: "digest").text()).description
    }
}
