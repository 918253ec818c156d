import AccelByteIO
public import AccelFormats
public import AccelModelFamilies
public import AccelPackages
public import AccelPrograms
public import AccelTensors

/// A model as its files have it: its programs, and what a package of it says of them besides.
public struct OriginalModel: Sendable {
    public let programs: [Program]
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

    /// - Parameter digests: of the checkpoint's files.
    public init(
        _ model: FamilyModel, of checkpoint: Checkpoint, by family: any ModelFamily, digests: ModelDigests
    ) {
        programs = model.programs
        self.family = type(of: family).name
        familyVersion = type(of: family).version
        parts = model.recordedParts(of: family)
        unused = model.unused.map { UnusedTensor(name: $0.name, reason: $0.reason) }
        origins = model.origins
        remarks = model.remarks
        ignoredTensors = model.ignoredTensors
        sources = digests.sources
        assets = checkpoint.assets.map { Asset(name: $0.name, content: $0.content) }
    }

    /// The model that a package is compared with, in the parts that the package says were asked for.
    /// - Throws: `FormatError` and `RequestError` as for a conversion.
    public init(_ checkpoint: Checkpoint, for package: AcceleratorPackage, threads: Int) throws {
        let provenance = package.manifest.provenance
        try self.init(
            checkpoint, parts: provenance.parts, ignoredTensors: provenance.ignoredTensors, threads: threads)
    }

    /// The model that a Core ML package is compared with, in the parts that the package was made of.
    /// - Throws: `FormatError` and `RequestError` as for a conversion.
    public init(_ checkpoint: Checkpoint, for package: CoreMLPackage, threads: Int) throws {
        try self.init(
            checkpoint, parts: package.parts.sorted(), ignoredTensors: package.model.ignoredTensors, threads: threads)
    }

    private init(_ checkpoint: Checkpoint, parts: [String], ignoredTensors: [String], threads: Int) throws {
        let family = try Families.matching(checkpoint.configuration)
        // A part that the family does not have is a difference, and no error.
        let asked = parts.filter(family.parts.contains)
        // So is a pattern that fits nothing.
        let model = try family.model(
            for: checkpoint, parts: asked, ignoredTensors: ignoredTensors, allowsIdlePatterns: true)
        let digests = try ModelDigests(checkpoint, cache: nil, threads: threads)
        try digests.complete()
        self.init(model, of: checkpoint, by: family, digests: digests)
    }
}
