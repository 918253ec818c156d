import AccelByteIO
import AccelPackages

/// export.json: the list of an export's files with their digests, and its provenance. Its last member is its own digest.
struct ExportList {
    /// The name of the format, which marks folders of accelc.
    let format: String
    /// The phrase for such a folder in errors.
    let title: String
    /// The suffixes of such folders' names.
    var suffixes: [String] = []

    static let name = "export.json"

    /// Writes the list.
    /// - Parameters:
    ///   - names: the names of the other files in the folder.
    ///   - digests: the digests of files that are known; the others are read.
    ///   - path: the folder, which the caller publishes.
    func write(
        _ provenance: [(key: String, text: String)], listing names: [String], digests: [String: Digest], in path: String
    ) throws {
        let list = [
            JSON.Member("accelc", .string(format)),
            JSON.Member("provenance", .object(provenance.map { JSON.Member($0.key, .string($0.text)) })),
        ]
        try AtomicFile.write(
            WrittenDocument.text(of: list, listing: names, digests: digests, in: path), to: "\(path)/\(Self.name)",
            as: .internal)
    }

    /// Reads the provenance of an export.
    /// - Parameter file: returns the content of a file of the export by its name; nil if there is no such file.
    static func provenance(_ file: (_ name: String) throws -> ByteView?) throws -> [String: String] {
        guard let bytes = try file(name) else { return [:] }
        let list = JSONField(try JSON.parse(bytes, file: name), file: name)
        return Dictionary(try list["provenance"].members().map { ($0.key, try $0.field.string()) }) { first, _ in first
        }
    }

    /// An unchanged folder of this format that accelc wrote. Files of other tools are not replaced.
    var kind: OutputKind { OutputKind.folder(title, suffixes: suffixes) { try rejectionReason(for: $0) } }

    private func rejectionReason(for path: String) throws -> String? {
        let list = "\(path)/\(Self.name)"
        guard Files.kindWithoutFollowing(list) == .file else { return "it has no \(Self.name)" }
        if let reason = try OutputKind.missingMark(format, in: list) { return reason }
        let files = try JSONField(try JSON.read(list), file: list)["files"].array().map { try $0["name"].string() }
        if let reason = try OutputKind.foreignMember(of: path, besides: files + [Self.name]) { return reason }
        return try WrittenDocument.change(of: Self.name, in: path)
    }
}
