public import AccelByteIO
public import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// The complete contents of a package.
public struct PackageContents: Sendable {
    /// The graph with its weights and tables.
    public var graph: ModelGraph
    /// The encodings of the checkpoint's tensors, in the order of writing.
    public var coverage: [CoverageEntry]
    /// The tensors of the checkpoint that no function reads.
    public var unusedTensors: [UnusedTensor]
    /// Small tensors of the checkpoint from which tables were computed, sorted by name.
    public var keptTensors: [StoredTensor]
    /// The inputs of the conversion.
    public var provenance: Provenance
    /// The files that are passed through.
    public var assets: [Asset]

    /// Creates the contents of a package.
    /// - Parameter provenance: if it names no codecs, their versions are those of this tool.
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

/// The encoding of one tensor of the checkpoint.
public struct CoverageEntry: Sendable {
    /// The tensor with its name, original type and shape, codec, and stored bytes.
    public var tensor: CompressedTensor
    /// The error of the encoding.
    public var distortion: Distortion
    /// Why it does not have the encoding of the recipe; nil if it has.
    public var reason: String?
    /// The names of the operators that read it.
    public var readers: [String]
    /// The scaling of the checkpoint's tensor before it was encoded, which does not change the results of the
    /// functions; nil for none. The error refers to the scaled tensor.
    public var scaling: ChannelScaling?
    /// Its derivation from the checkpoint's tensors; nil if it is one of them.
    public var derivation: Derivation?
    /// The names of equal tensors of the checkpoint that no function reads.
    public var copies: [String] = []

    /// Creates an entry.
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

    /// Creates an entry for a weight that is a tensor of the checkpoint.
    public init(_ weight: CompressedWeight) {
        self.init(
            tensor: weight.tensor, distortion: weight.distortion, reason: weight.reason, readers: weight.readers)
    }
}

/// The inputs of a conversion: everything that determines the bytes of a package, and nothing else (no date, host,
/// path, or number of threads).
public struct Provenance: Equatable, Sendable {
    /// A file that the conversion read.
    public struct Source: Equatable, Sendable {
        /// The path relative to the model's folder.
        public var name: String
        /// The size in bytes.
        public var byteCount: Int
        /// The `TreeDigest` of its bytes; for a weight file, SHA-256 over the digests of its header and its tensors, in
        /// order.
        public var digest: Digest
        /// Creates a source.
        public init(name: String, byteCount: Int, digest: Digest) {
            self.name = name
            self.byteCount = byteCount
            self.digest = digest
        }
    }
    /// Sorted by name.
    public var sources: [Source]
    /// Where the model comes from, such as `hf:OWNER/NAME@COMMIT`; nil if that is unknown.
    public var origin: String?
    /// The model family, such as `bert`.
    public var family: String
    /// The `ModelFamily.version` of the tool that made the package.
    public var familyVersion: Int
    /// The `Passes.versions` of that tool.
    public var passVersions: [String: Int]
    /// The converted parts of the model, in the family's order; empty for the default parts.
    public var parts: [String]
    /// The positions of a block of tokens that decoders compute logits for.
    public var logits: LogitPositions
    /// The `Recipe.json`, with explicit defaults.
    public var recipe: JSON
    /// The bindings of each frozen function, such as `batch=1,sequence=128`.
    public var shapes: [String]
    /// The effects of the shapes on the functions, one sentence each: `FrozenProgram.remarks`.
    public var remarks: [String]
    /// The patterns of tensors that the user asked to ignore, sorted.
    public var ignoredTensors: [String]
    /// The requested element type of key/value caches.
    public var states: StateStorage
    /// The version of accelc that made the package.
    public var toolVersion: String
    /// The `WeightCodec.numericsVersion` of the codecs in the package, by name.
    public var codecVersions: [String: Int]

    /// Creates a provenance. See the properties for the parameters.
    public init(
        sources: [Source], origin: String? = nil, family: String, familyVersion: Int = 1,
        passVersions: [String: Int] = Passes.versions,
        parts: [String] = [], logits: LogitPositions = .all, recipe: JSON, shapes: [String], remarks: [String] = [],
        ignoredTensors: [String] = [], states: StateStorage = .float32, toolVersion: String = Tool.version,
        codecVersions: [String: Int] = [:]
    ) {
        self.sources = sources.sorted { $0.name < $1.name }
        self.origin = origin
        self.family = family
        self.familyVersion = familyVersion
        self.passVersions = passVersions
        self.parts = parts
        self.logits = logits
        self.recipe = recipe
        self.shapes = shapes
        self.remarks = remarks
        self.ignoredTensors = ignoredTensors
        self.states = states
        self.toolVersion = toolVersion
        self.codecVersions = codecVersions
    }
}

/// A file that is passed through, such as a tokenizer or a configuration.
public struct Asset: Sendable {
    /// The relative path with `/` between its components, such as `1_Pooling/config.json`.
    public var name: String
    /// The bytes of the file.
    public var content: ByteView
    /// Creates an asset.
    public init(name: String, content: ByteView) {
        self.name = name
        self.content = content
    }
}
