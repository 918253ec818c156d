import AccelByteIO
public import AccelFormats
public import AccelModelFamilies
public import AccelPackages
public import AccelPrograms
public import AccelTensors

/// A model as its files have it: its programs, and what a package of it says of them besides.
public struct OriginalModel: Sendable {
    public let programs: [Program]
    /// The functions of a source whose every dimension is a number; empty: the programs are frozen as the subject's are.
    public let functions: [FrozenProgram]
    /// e.g. `bert`
    public let family: String
    /// `ModelFamily.version` of this tool.
    public let familyVersion: Int
    /// As `Provenance.parts` has them.
    public let parts: [String]
    /// The tensors that no program reads.
    public let unused: [UnusedTensor]
    /// How the tensors that are read are found in the programs' constants.
    public let origins: TensorOrigins
    /// What a user should know of how the checkpoint was read.
    public let remarks: [String]
    /// As `Provenance.ignoredTensors` has them.
    public let ignoredTensors: [String]
    public let sources: [Provenance.Source]
    public let assets: [Asset]

    /// Whether a subject that was made of `sources` was made of this model. A model whose every dimension is a number, such as
    /// a package, may be compared with what was made of another one: then nothing can be made again.
    func isSource(of sources: [(name: String, digest: String)]) -> Bool {
        let own = self.sources.map { ($0.name, $0.digest.description) }
        return functions.isEmpty || own.elementsEqual(sources) { $0 == ($1.name, $1.digest) }
    }

    /// - Parameter digests: of the source's files.
    /// - Throws: `FormatError` for an asset that was changed.
    public init(_ model: SourceModel, of source: any ModelSource, digests: ModelDigests) throws {
        (programs, functions) = (model.programs, model.functions ?? [])
        (family, familyVersion) = (model.family, model.familyVersion)
        parts = model.recordedParts
        unused = model.unused.map { UnusedTensor(name: $0.name, reason: $0.reason) }
        origins = model.origins
        remarks = model.remarks
        ignoredTensors = model.ignoredTensors
        sources = digests.sources
        assets = try source.assets
    }

    /// The model that a subject is compared with, in the parts that the subject says it was made of. A part that the model does
    /// not have, and a pattern that fits nothing, are differences, and no errors.
    /// - Throws: `FormatError` and `RequestError` as for a conversion.
    public init(_ source: any ModelSource, for subject: Subject, threads: Int) throws {
        let (parts, ignoredTensors) = subject.madeOf
        let model = try source.model(parts: parts, ignoredTensors: ignoredTensors, allowsIdlePatterns: true)
        let digests = try source.digests(cache: nil, threads: threads)
        try digests.complete()
        try self.init(model, of: source, digests: digests)
    }

    /// The model that a package is compared with.
    /// - Throws: as `init(_:for:threads:)`
    public init(_ checkpoint: Checkpoint, for package: AcceleratorPackage, threads: Int) throws {
        try self.init(
            HuggingFaceModel(checkpoint, path: checkpoint.folder), for: .package(package), threads: threads)
    }
}
