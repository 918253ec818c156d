import AccelByteIO

/// Writes the folder `X.mlpackage`: a manifest, the model, and its weights.
enum CoreMLPackageWriter {
    private static let data = "Data/com.apple.CoreML"
    private static let manifestName = "Manifest.json"
    private static let weightsName = "\(data)/weights/weight.bin"

    /// - Parameter path: an empty or absent folder, which the caller publishes.
    static func write(_ model: [UInt8], _ blobs: BlobFile, to path: String) throws {
        try Files.makeFolder("\(path)/\(data)/weights")
        let view = ByteView(model)
        try AtomicFile.write(view, to: "\(path)/\(modelName)", as: .internal)
        if !blobs.isEmpty { try blobs.write(to: "\(path)/\(weightsName)") }
        try AtomicFile.write(manifest(for: view).text(pretty: true), to: "\(path)/\(manifestName)", as: .internal)
    }

    /// The path of the model in the folder.
    static let modelName = "Data/com.apple.CoreML/model.mlmodel"

    /// Returns the reason why the folder at `path` is not an unchanged output of `write`; nil if it is. The manifest's identifiers
    /// follow from the model, while other tools use random ones, and do not update them when they change the model. Its white space does
    /// not count: coremltools writes the manifest again when it only reads a package.
    static func rejectionReason(for path: String) throws -> String? {
        for name in try members(of: path) {
            let isFolder = Files.kindWithoutFollowing("\(path)/\(name)") == .folder
            let isOurs =
                isFolder
                ? "\(data)/weights/".hasPrefix("\(name)/") : [manifestName, modelName, weightsName].contains(name)
            guard isOurs, isFolder || Files.kindWithoutFollowing("\(path)/\(name)") == .file else {
                return "it holds \(name), which is no part of the export"
            }
        }
        let manifest = try MappedFile(manifestName, inside: path).bytes
        let model = try MappedFile(modelName, inside: path).bytes
        guard try JSON.parse(manifest, file: manifestName) == self.manifest(for: model) else {
            return "its \(manifestName) is not what accelc writes for its model"
        }
        return nil
    }

    /// Returns all files and folders below a folder.
    private static func members(of path: String, in prefix: String = "") throws -> [String] {
        try Files.list("\(path)/\(prefix)").flatMap { part -> [String] in
            let name = prefix + part
            guard Files.kindWithoutFollowing("\(path)/\(name)") == .folder else { return [name] }
            return [name] + (try members(of: path, in: "\(name)/"))
        }
    }

    /// Returns the manifest. Its identifiers follow from the model, so that equal models give equal bytes.
    private static func manifest(for model: ByteView) -> JSON {
        let (modelID, weightsID) = (modelIdentifier(model), identifier(SHA256.digest(of: model).bytes[16...]))
        func item(_ name: String, _ path: String, _ description: String) -> JSON {
            [
                "author": "com.apple.CoreML", "description": .string(description), "name": .string(name),
                "path": .string(path),
            ]
        }
        let entries: [(String, JSON)] = [
            (modelID, item("model.mlmodel", "com.apple.CoreML/model.mlmodel", "CoreML Model Specification")),
            (weightsID, item("weights", "com.apple.CoreML/weights", "CoreML Model Weights")),
        ]
        return [
            "fileFormatVersion": "1.0.0",
            "itemInfoEntries": .object(entries.sorted { $0.0 < $1.0 }.map { .init($0.0, $0.1) }),
            "rootModelIdentifier": .string(modelID),
        ]
    }

    /// Returns the identifier of the model in the manifest.
    static func modelIdentifier(_ model: ByteView) -> String { identifier(SHA256.digest(of: model).bytes[..<16]) }

    /// Returns whether an identifier is derived from content (UUID version 8), as accelc does; other tools use random ones.
    static func isMade(_ identifier: String) -> Bool {
        let parts = identifier.split(separator: "-")
        return parts.count == 5 && parts[2].first == "8"
    }

    /// Returns 16 bytes as a UUID of version 8 (RFC 9562), the version for custom content.
    private static func identifier(_ bytes: ArraySlice<UInt8>) -> String {
        var bytes = Array(bytes)
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = bytes.map { byte in
            let text = String(byte, radix: 16, uppercase: true)
            return text.count == 1 ? "0\(text)" : text
        }
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
    }
}
