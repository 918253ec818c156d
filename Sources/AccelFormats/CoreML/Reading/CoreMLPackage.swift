public import AccelByteIO
public import AccelTensors

/// A Core ML package (`.mlpackage`) with an ML Program, as accelc, coremltools or Xcode write it, open for reading.
public struct CoreMLPackage: Sendable {
    public let path: String
    public let model: CoreMLModel
    let blobs: BlobReader?
    /// The manifest is accelc's, and of another model: damage, or another tool has changed the model.
    let isOfAnotherManifest: Bool
    /// The files that it was read from; none for a package in memory.
    public let sources: [ModelFiles.Source]

    /// Whether `path` is the folder of a Core ML package, by its manifest.
    public static func isPackage(_ path: String) -> Bool {
        Files.kind(of: path) == .folder && Files.kind(of: "\(path)/Manifest.json") == .file
            && Files.kind(of: "\(path)/Data") == .folder
    }

    /// - Throws: `FormatError` for a package that is corrupt or holds something other than an ML Program.
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
    /// - Parameter weights: the blob file; nil when there is none.
    public init(model: ByteView, weights: ByteView?, path: String) throws {
        try self.init(
            path: path, model: CoreMLModel(model, file: path), blobs: weights.map { try BlobReader($0, file: path) })
    }

    /// The same model with another blob file, in memory.
    /// - Throws: `FormatError` for a file that is no blob file.
    public func replacingWeights(_ weights: ByteView) throws -> CoreMLPackage {
        try CoreMLPackage(path: path, model: model, blobs: BlobReader(weights, file: path))
    }

    /// The bytes of `model.mlmodel`, as accelc writes it.
    public var encodedModel: [UInt8] { model.encoded }

    init(
        path: String, model: CoreMLModel, blobs: BlobReader?, sources: [ModelFiles.Source] = [],
        isOfAnotherManifest: Bool = false
    ) throws {
        (self.path, self.model, self.blobs, self.sources) = (path, model, blobs, sources)
        self.isOfAnotherManifest = isOfAnotherManifest
    }

    /// An error about a function's operation or value.
    public func error(_ place: String, _ reason: String) -> FormatError {
        FormatError(file: path, place: .field(place), reason: reason)
    }
}
