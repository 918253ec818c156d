import ByteIO

/// The folder `X.mlpackage`: a manifest, the model, and its weights.
enum CoreMLPackageWriter {
    static func write(_ model: [UInt8], _ blobs: BlobFile, to path: String) throws {
        let folder = try AtomicFolder(replacing: path)
        let data = "\(folder.path)/Data/com.apple.CoreML"
        try Files.makeFolder("\(data)/weights")
        let view = ByteView(model)
        try write(view, to: "\(data)/model.mlmodel")
        if !blobs.isEmpty { try blobs.write(to: "\(data)/weights/weight.bin") }
        try write(ByteView(Array(manifest(for: view).utf8)), to: "\(folder.path)/Manifest.json")
        try folder.commit()
    }

    private static func write(_ view: ByteView, to path: String) throws {
        var file = try AtomicFile(replacing: path)
        try file.write(view)
        try file.commit()
    }

    /// The identifiers follow from the model, so that the same model makes the same bytes.
    private static func manifest(for model: ByteView) -> String {
        let digest = SHA256.digest(of: model).bytes
        let (modelID, weightsID) = (identifier(digest[..<16]), identifier(digest[16...]))
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
        let manifest: JSON = [
            "fileFormatVersion": "1.0.0",
            "itemInfoEntries": .object(entries.sorted { $0.0 < $1.0 }.map { .init($0.0, $0.1) }),
            "rootModelIdentifier": .string(modelID),
        ]
        return manifest.text(pretty: true)
    }

    /// 16 bytes as a UUID of version 8 (RFC 9562): made from content.
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
