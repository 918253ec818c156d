public import AccelByteIO
public import AccelTensors

/// A Core ML package (`.mlpackage`) with an ML Program, open for reading. Supports packages of accelc, coremltools and Xcode.
public struct CoreMLPackage: Sendable {
    /// The path of the package, for errors.
    public let path: String
    /// The decoded model.
    public let model: CoreMLModel
    let blobs: BlobReader?
    /// Whether the manifest is accelc's but belongs to another model: corruption, or a change by another tool.
    let isOfAnotherManifest: Bool
    /// The files of the package; empty for a package in memory.
    public let sources: [ModelFiles.Source]

    /// Returns whether `path` is a folder with a Core ML package's manifest.
    public static func isPackage(_ path: String) -> Bool {
        Files.kind(of: path) == .folder && Files.kind(of: "\(path)/Manifest.json") == .file
            && Files.kind(of: "\(path)/Data") == .folder
    }

    /// Opens a package and decodes its model.
    /// - Throws: `FormatError` if the package is corrupt or is not an ML Program.
    public init(at path: String) throws {
        let folder = try PackageFolder(path)
        let (model, weights) = (try folder.model, try folder.weights)
        let isMade = CoreMLPackageWriter.isMade(folder.identifier)
        try self.init(
            path: path, model: CoreMLModel(model.bytes, file: model.path),
            blobs: weights.map { try BlobReader($0.bytes, file: $0.path) },
            sources: folder.sources(model, weights),
            isOfAnotherManifest: isMade && folder.identifier != CoreMLPackageWriter.modelIdentifier(model.bytes))
    }

    /// A package in memory.
    /// - Parameters:
    ///   - model: the bytes of `model.mlmodel`.
    ///   - weights: the blob file; nil if there is none.
    ///   - path: the name of the package in errors.
    /// - Throws: `FormatError` if the model or the blob file is corrupt.
    public init(model: ByteView, weights: ByteView?, path: String) throws {
        try self.init(
            path: path, model: CoreMLModel(model, file: path), blobs: weights.map { try BlobReader($0, file: path) })
    }

    /// Returns the model with another blob file, in memory.
    /// - Throws: `FormatError` if the blob file is corrupt.
    public func replacingWeights(_ weights: ByteView) throws -> CoreMLPackage {
        try CoreMLPackage(path: path, model: model, blobs: BlobReader(weights, file: path))
    }

    /// The bytes of `model.mlmodel` in accelc's encoding.
    public var encodedModel: [UInt8] { model.encoded }

    init(
        path: String, model: CoreMLModel, blobs: BlobReader?, sources: [ModelFiles.Source] = [],
        isOfAnotherManifest: Bool = false
    ) throws {
        (self.path, self.model, self.blobs, self.sources) = (path, model, blobs, sources)
        self.isOfAnotherManifest = isOfAnotherManifest
    }

    /// Returns an error about an operation or value of a function.
    public func error(_ location: String, _ reason: String) -> FormatError {
        FormatError(file: path, location: .field(location), reason: reason)
    }
}
