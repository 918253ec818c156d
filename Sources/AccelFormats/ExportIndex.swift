import AccelByteIO
import AccelPackages

/// An index of an export's files with their digests and the export's provenance. Its last member is its own digest.
struct ExportIndex {
    /// The name of the file in the folder.
    let name: String

    /// Reads the provenance of an export.
    /// - Parameter file: returns the content of a file of the export by its name; nil if there is no such file.
    func provenance(_ file: (_ name: String) throws -> ByteView?) throws -> [String: String] {
        guard let bytes = try file(name),
            case .object(let members)? = try JSON.parse(bytes, file: name)["metadata"]
        else { return [:] }
        let texts = members.compactMap { member -> (String, String)? in
            guard case .string(let text) = member.value, member.key.hasPrefix("accelc.") else { return nil }
            return (member.key, text)
        }
        return Dictionary(texts) { first, _ in first }
    }

    /// Returns why a folder is not an unchanged export with this index; nil if it is.
    func rejectionReason(for path: String) throws -> String? {
        let index = "\(path)/\(name)"
        guard Files.kindWithoutFollowing(index) == .file else { return "it has no \(name)" }
        let document = JSONField(try JSON.read(index), file: index)
        guard document["files"].exists else { return "its \(name) is not of accelc" }
        let listed = Set(try document["files"].array().map { try $0["name"].string() } + [name])
        if let other = try Self.members(of: path).first(where: { !listed.contains($0) }) {
            return "it holds \(other), which is no part of the export"
        }
        return try WrittenDocument.change(of: name, in: path)
    }

    /// Returns all files below a folder.
    private static func members(of path: String, in prefix: String = "") throws -> [String] {
        try Files.list("\(path)/\(prefix)").flatMap { part -> [String] in
            let name = prefix + part
            return Files.kindWithoutFollowing("\(path)/\(name)") == .folder
                ? try members(of: path, in: "\(name)/") : [name]
        }
    }
}

extension [Asset] {
    /// Writes the files into the folder of an export.
    /// - Parameter others: the names of files that the export has instead.
    /// - Returns: the names of the written files.
    func write(to path: String, besides others: Set<String>) throws -> [String] {
        try filter { !others.contains($0.name) }.map { asset in
            if let folder = Files.parentFolder(of: asset.name) { try Files.makeFolder("\(path)/\(folder)") }
            try AtomicFile.write(asset.content, to: "\(path)/\(asset.name)", as: .internal)
            return asset.name
        }
    }
}
