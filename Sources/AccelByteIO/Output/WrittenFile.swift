/// A file of an output, as it was when accelc wrote it: what its user has changed since is not replaced.
public struct WrittenFile: Sendable {
    let name: String
    let byteCount: Int
    /// `TreeDigest` of its bytes; nil where only its size is known.
    let digest: Digest?

    /// Files up to this size are compared byte by byte, larger ones by their size: the answer is wanted at once.
    public static let comparedBytes = 1 << 20

    public init(name: String, byteCount: Int, digest: Digest?) {
        (self.name, self.byteCount, self.digest) = (name, byteCount, digest)
    }

    /// Why a file of this name is not the one that accelc wrote; nil when it is.
    public func change(in content: ByteView) -> String? {
        let isSame =
            content.count == byteCount
            && (byteCount > Self.comparedBytes || digest.map { $0 == TreeDigest.digest(of: content) } ?? true)
        return isSame ? nil : Self.change(of: name)
    }

    public static func change(of name: String) -> String { "\(name) was changed after accelc wrote it" }
}

/// The document of an output folder: it lists the files beside it, and has its own digest as its last member.
public enum WrittenDocument {
    /// - Parameters:
    ///   - members: what else the document says.
    ///   - names: of the files in the folder.
    public static func text(of members: [JSON.Member], listing names: [String], in folder: String) throws -> String {
        let files = try names.sorted().map { name -> JSON in
            let content = try MappedFile(name, inside: folder).bytes
            return [
                "name": .string(name), "bytes": .integer(Int64(content.count)),
                "digest": .string(TreeDigest.digest(of: content).description),
            ]
        }
        let body = members + [JSON.Member("files", .array(files))]
        return JSON.object(body + [JSON.Member("digest", .string(try digest(of: body)))]).text(pretty: true)
    }

    /// Why the document, or a file that it lists, is not as accelc wrote it; nil when all are. A file that is gone is no objection:
    /// nothing of it can be lost.
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

    /// Of the members as they are read again.
    private static func digest(of members: some Sequence<JSON.Member>) throws -> String {
        let text = JSON.object(Array(members)).text()
        return SHA256.digest(of: try JSON.parse(ByteView(Array(text.utf8)), file: "digest").text()).description
    }
}
