public import AccelByteIO
public import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The content of manifest.json: the package's functions, the features that a reader needs, and the list of its files.
public struct Manifest: Equatable, Sendable {
    /// A function of the package.
    public struct Function: Equatable, Sendable {
        /// The name that runs use, such as `model[batch=1,sequence=128]`.
        public var name: String
        /// The part of the model that it belongs to.
        public var part: String
        /// The numbers of the free dimensions, sorted by name.
        public var bindings: ShapeBindings
        /// The inputs in order.
        public var inputs: [FrozenProgram.Port]
        /// The outputs in order.
        public var outputs: [FrozenProgram.Port]
        /// The states in order.
        public var states: [FrozenProgram.State]
        /// The purpose of the function, and the roles of its ports.
        public var interface: Interface
    }
    /// A file of the package.
    public struct File: Equatable, Sendable {
        /// The path relative to the package, such as `assets/tokenizer.json`.
        public var name: String
        /// The size in bytes.
        public var byteCount: Int
        /// The `TreeDigest` of its bytes; of a weight blob, SHA-256 over the digests of its sections.
        public var digest: Digest
    }

    /// SHA-256 over the manifest without this member. It identifies the package, because the manifest holds all other
    /// digests.
    public var digest: Digest
    /// The major format version.
    public var major: Int
    /// The minor format version.
    public var minor: Int
    /// The features that a reader has to support.
    public var requiredFeatures: [String]
    /// The features that a reader may ignore.
    public var optionalFeatures: [String]
    /// The functions of the package.
    public var functions: [Function]
    /// All files except the manifest and the report, sorted by name.
    public var files: [File]
    /// A summary of the encodings of the checkpoint's tensors.
    public var coverage: CoverageSummary
    /// The inputs of the conversion.
    public var provenance: Provenance

    /// The weight blobs, in order.
    public var blobs: [File] { files.filter { $0.name.hasPrefix("weights-") } }
    /// The names of the assets, without `assets/`.
    public var assetNames: [String] {
        let prefix = PackageFormat.assetsFolder + "/"
        return files.map(\.name).filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
    /// Optional features that this tool does not know and ignores.
    public var ignoredFeatures: [String] {
        optionalFeatures.filter { PackageFormat.Feature(rawValue: $0) == nil }
    }

    /// Returns the file of a name; nil if it is not listed.
    public func file(_ name: String) -> File? { files.first { $0.name == name } }
}

extension Manifest.Function {
    /// Creates the description of a function.
    public init(_ function: FrozenProgram) {
        self.init(
            name: function.functionName, part: function.program.name, bindings: function.bindings,
            inputs: function.inputs, outputs: function.outputs, states: function.states,
            interface: function.program.interface)
    }
}

/// A summary of the encodings of a checkpoint's tensors.
public struct CoverageSummary: Equatable, Sendable {
    /// The tensors with one encoding.
    public struct Share: Equatable, Sendable {
        /// The codec's specification.
        public var codec: String
        /// The number of tensors.
        public var tensors: Int
        /// The number of elements.
        public var weights: Int
        /// The size of their sections in bytes.
        public var byteCount: Int
    }
    /// The shares, sorted by codec.
    public var shares: [Share]
    /// The number of tensors without the encoding of the recipe; source-map.json has the reasons.
    public var exceptions: Int
    /// The number of tensors that no function reads.
    public var unused: Int

    /// Summarises a coverage table.
    public init(_ coverage: [CoverageEntry], unused: Int) {
        var shares: [String: Share] = [:]
        for entry in coverage {
            let codec = entry.tensor.codec.specification
            var share = shares[codec] ?? Share(codec: codec, tensors: 0, weights: 0, byteCount: 0)
            share.tensors += 1
            share.weights += entry.tensor.shape.count
            share.byteCount += entry.tensor.byteCount
            shares[codec] = share
        }
        self.init(
            shares: shares.values.sorted { $0.codec < $1.codec }, exceptions: coverage.count { $0.reason != nil },
            unused: unused)
    }

    init(shares: [Share], exceptions: Int, unused: Int) {
        self.shares = shares
        self.exceptions = exceptions
        self.unused = unused
    }

    /// The number of elements of all tensors.
    public var weights: Int { shares.reduce(0) { $0 + $1.weights } }
    /// The stored bits per weight, including scales and tables; 0 if there are no weights.
    public var bitsPerWeight: Double {
        weights == 0 ? 0 : Double(shares.reduce(0) { $0 + $1.byteCount }) * 8 / Double(weights)
    }
}
