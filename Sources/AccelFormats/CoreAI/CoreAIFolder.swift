public import AccelByteIO

/// The folder `X.aimodel`: the module, its digest, and metadata.
enum CoreAIFolder {
    static let moduleName = "main.mlirb"
    static let hashName = "main.hash"
    static let metadataName = "metadata.json"

    /// - Parameter path: an empty or absent folder, which the caller publishes.
    static func write(_ module: CoreAIEncoder.File, _ metadata: CoreAIMetadata, to path: String) throws {
        try Files.makeFolder(path)
        var hash = SHA256()
        var file = try AtomicFile(
            replacing: "\(path)/\(moduleName)", as: .internal, isLarge: module.byteCount > 1 << 26)
        for part in module.parts {
            part.withBytes { hash.update($0) }
            try file.write(part)
        }
        try file.commit()
        try AtomicFile.write(ByteView(hash.finalize().bytes), to: "\(path)/\(hashName)", as: .internal)
        let text = try WrittenDocument.text(of: metadata.members, listing: [moduleName, hashName], in: path)
        try AtomicFile.write(text, to: "\(path)/\(metadataName)", as: .internal)
    }

    /// Returns why a folder is not an unchanged output of `write`; nil if it is.
    fileprivate static func rejectionReason(for path: String) throws -> String? {
        for name in try Files.list(path) {
            guard [moduleName, hashName, metadataName].contains(name),
                Files.kindWithoutFollowing("\(path)/\(name)") == .file
            else { return "it holds \(name), which is no part of the export" }
        }
        guard Files.kindWithoutFollowing("\(path)/\(metadataName)") == .file else { return "it has no \(metadataName)" }
        let entries = try CoreAIMetadata.entries(
            in: MappedFile(metadataName, inside: path).bytes, file: "\(path)/\(metadataName)")
        guard entries[CoreAIMetadata.exporterKey] != nil else { return "its \(metadataName) is not of accelc" }
        return try WrittenDocument.change(of: metadataName, in: path)
    }
}

extension OutputKind {
    /// An unchanged Core AI model of accelc. Models of other tools are not replaced.
    public static let coreAIModel = OutputKind.folder(
        "a Core AI model", suffixes: CoreAIFormat.suffixes
    ) { try CoreAIFolder.rejectionReason(for: $0) }
}
