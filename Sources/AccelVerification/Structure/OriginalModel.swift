import AccelByteIO
public import AccelFormats
public import AccelModelFamilies
public import AccelPackages
public import AccelPrograms
public import AccelTensors
import AccelWeightCompression

/// A model read from its files: its programs, and the values that a package's provenance records about them.
public struct OriginalModel: Sendable {
    /// The model's programs, one for each part.
    public let programs: [Program]
    /// The functions of a source with fixed dimensions only. If empty, the programs are frozen to the subject's
    /// dimensions.
    public let functions: [FrozenProgram]
    /// e.g. `bert`
    public let family: String
    /// `ModelFamily.version` of this tool.
    public let familyVersion: Int
    /// The parts, in the form of `Provenance.parts`.
    public let parts: [String]
    /// The positions that the programs' decoders compute logits for.
    public let logits: LogitPositions
    /// The tensors that no program reads.
    public let unused: [UnusedTensor]
    /// The mapping from checkpoint tensors to the programs' constants.
    public let origins: TensorOrigins
    /// Remarks for the user about reading the checkpoint.
    public let remarks: [String]
    /// The patterns of ignored tensors, in the form of `Provenance.ignoredTensors`.
    public let ignoredTensors: [String]
    /// The weights that the files have encoded, by name.
    let encoded: [String: EncodedWeight]
    /// The source's files with their digests.
    public let sources: [Provenance.Source]
    /// Files that a package copies unchanged, such as a tokenizer.
    public let assets: [Asset]

    /// Returns whether `sources` are the files of this model. A model with fixed dimensions only, such as a package,
    /// may be compared with a subject made from another model; the conversion cannot be repeated then.
    func isSource(of sources: [(name: String, digest: String)]) -> Bool {
        let own = self.sources.map { ($0.name, $0.digest.description) }
        return functions.isEmpty || own.elementsEqual(sources) { $0 == ($1.name, $1.digest) }
    }

    /// Creates the model of a source. `digests` are those of the source's files.
    /// - Throws: `FormatError` if an asset was changed.
    public init(_ model: SourceModel, of source: any ModelSource, digests: ModelDigests) throws {
        (programs, functions) = (model.programs, model.functions ?? [])
        (family, familyVersion) = (model.family, model.familyVersion)
        parts = model.recordedParts
        logits = model.logits
        unused = model.unused.map { UnusedTensor(name: $0.name, reason: $0.reason) }
        origins = model.origins
        remarks = model.remarks
        ignoredTensors = model.ignoredTensors
        encoded = model.encoded
        sources = digests.sources
        assets = try source.assets
    }

    /// Creates the model that a subject is compared with, in the subject's recorded parts and with the logits that the
    /// subject records. A part or logits that the model does not have and a pattern without a match become differences,
    /// not errors.
    /// - Parameter format: the format of an export; nil for a package, which holds all outputs.
    /// - Throws: `FormatError` and `RequestError` as for a conversion.
    public init(
        _ source: any ModelSource, for subject: Subject, in format: (any Exporter.Type)? = nil, threads: Int
    ) throws {
        let (parts, ignoredTensors, logits) = subject.madeOf
        let all = try source.model(parts: parts, ignoredTensors: ignoredTensors, allowsIdlePatterns: true)
        let whole = try format?.held(all) ?? all
        let model = try whole.computing(logits) ?? whole
        let digests = try source.digests(cache: nil, threads: threads)
        try digests.complete()
        try self.init(model, of: source, digests: digests)
    }

    /// Creates the model that a package is compared with.
    /// - Throws: as `init(_:for:threads:)`
    public init(_ checkpoint: Checkpoint, for package: AcceleratorPackage, threads: Int) throws {
        try self.init(
            HuggingFaceModel(checkpoint, path: checkpoint.folder), for: .package(package), threads: threads)
    }
}
