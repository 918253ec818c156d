public import AccelByteIO
public import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// All that a package is made of.
public struct PackageContents: Sendable {
    public var graph: ModelGraph
    public var coverage: [CoverageEntry]
    public var unusedTensors: [UnusedTensor]
    /// Small tensors of the checkpoint of which the functions' tables were computed, sorted by name.
    public var keptTensors: [StoredTensor]
    public var provenance: Provenance
    public var assets: [Asset]

    /// - Parameter provenance: where it names no codecs, their versions are those of this tool.
    public init(
        graph: ModelGraph, coverage: [CoverageEntry], unusedTensors: [UnusedTensor] = [],
        keptTensors: [StoredTensor] = [], provenance: Provenance, assets: [Asset] = []
    ) {
        self.graph = graph
        self.coverage = coverage
        self.unusedTensors = unusedTensors
        self.keptTensors = keptTensors
        self.provenance = provenance
        if provenance.codecVersions.isEmpty {
            self.provenance.codecVersions = Codecs.numericsVersions(of: coverage.map(\.tensor.codec))
        }
        self.assets = assets
    }
}

/// What became of one tensor of the checkpoint.
public struct CoverageEntry: Sendable {
    /// Its name, original type and shape, codec, and stored bytes.
    public var tensor: CompressedTensor
    public var distortion: Distortion
    /// Why it is not stored as the recipe's codec would; nil when it is.
    public var reason: String?
    /// The names of the operators that read it.
    public var readers: [String]
    /// What the checkpoint's tensor was multiplied by before it was stored, so that the functions give the same; nil:
    /// nothing. The distortion is of the product.
    public var scaling: ChannelScaling?
    /// How it was made of the checkpoint's tensors; nil: it is one of them.
    public var derivation: Derivation?
    /// Other tensors of the checkpoint that are equal to it, and that no function reads.
    public var copies: [String] = []

    public init(
        tensor: CompressedTensor, distortion: Distortion, reason: String?, readers: [String],
        scaling: ChannelScaling? = nil
    ) {
        self.tensor = tensor
        self.distortion = distortion
        self.reason = reason
        self.readers = readers
        self.scaling = scaling
    }

    public init(_ weight: CompressedWeight) {
        self.init(
            tensor: weight.tensor, distortion: weight.distortion, reason: weight.reason, readers: weight.readers)
    }
}

/// A tensor of the checkpoint that no function reads.
public struct UnusedTensor: Equatable, Sendable {
    public var name: String
    public var reason: String
    public init(name: String, reason: String) {
        self.name = name
        self.reason = reason
    }
}

/// Where a package comes from: all that decides its bytes, and nothing else (no day, host, path, or thread count).
public struct Provenance: Equatable, Sendable {
    /// A file that the conversion read.
    public struct Source: Equatable, Sendable {
        /// Relative to the model's folder.
        public var name: String
        public var byteCount: Int
        /// `TreeDigest` of its bytes; for a file of tensors SHA-256 over those of its header and its tensors, in their order.
        public var digest: Digest
        public init(name: String, byteCount: Int, digest: Digest) {
            self.name = name
            self.byteCount = byteCount
            self.digest = digest
        }
    }
    /// Sorted by name.
    public var sources: [Source]
    /// e.g. `bert`
    public var family: String
    /// `ModelFamily.version` of the tool that made the package.
    public var familyVersion: Int
    /// `Passes.versions` of that tool.
    public var passVersions: [String: Int]
    /// The parts of the model that were converted, in the family's order; empty for those that the family builds when
    /// none is asked for.
    public var parts: [String]
    /// `Recipe.json`: every default written out.
    public var recipe: JSON
    /// The bindings of each frozen function, e.g. `batch=1,sequence=128`.
    public var shapes: [String]
    /// What the shapes decide beyond themselves, a sentence each: `FrozenProgram.remarks`.
    public var remarks: [String]
    /// Patterns of tensors that were left out although the model's family does not explain them, sorted.
    public var ignoredTensors: [String]
    public var toolVersion: String
    /// `WeightCodec.numericsVersion` of the codecs that store the package's weights, by name.
    public var codecVersions: [String: Int]

    public init(
        sources: [Source], family: String, familyVersion: Int = 1, passVersions: [String: Int] = Passes.versions,
        parts: [String] = [], recipe: JSON, shapes: [String], remarks: [String] = [],
        ignoredTensors: [String] = [], toolVersion: String = Tool.version, codecVersions: [String: Int] = [:]
    ) {
        self.sources = sources.sorted { $0.name < $1.name }
        self.family = family
        self.familyVersion = familyVersion
        self.passVersions = passVersions
        self.parts = parts
        self.recipe = recipe
        self.shapes = shapes
        self.remarks = remarks
        self.ignoredTensors = ignoredTensors
        self.toolVersion = toolVersion
        self.codecVersions = codecVersions
    }
}

/// A file passed through: tokenizer, configuration.
public struct Asset: Sendable {
    /// Relative, with `/` between its parts, e.g. `1_Pooling/config.json`.
    public var name: String
    public var content: ByteView
    public init(name: String, content: ByteView) {
        self.name = name
        self.content = content
    }
}
