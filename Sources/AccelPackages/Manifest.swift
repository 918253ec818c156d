public import AccelByteIO
public import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// manifest.json: what a package is, what it needs of its reader, and the files that it consists of.
public struct Manifest: Equatable, Sendable {
    public struct Function: Equatable, Sendable {
        public var name: String
        public var part: String
        /// The frozen dimensions, sorted by name.
        public var bindings: ShapeBindings
        public var inputs: [FrozenProgram.Port]
        public var outputs: [FrozenProgram.Port]
        public var states: [FrozenProgram.State]
        /// What the function is for, and what its ports mean.
        public var interface: Interface
    }
    public struct File: Equatable, Sendable {
        /// Relative to the package, e.g. `assets/tokenizer.json`.
        public var name: String
        public var byteCount: Int
        /// `TreeDigest` of its bytes; of a weight blob, SHA-256 over the digests of its sections.
        public var digest: Digest
    }

    /// SHA-256 over the manifest without this member. It names the package: everything else is named in the manifest.
    public var digest: Digest
    public var major: Int
    public var minor: Int
    public var requiredFeatures: [String]
    public var optionalFeatures: [String]
    public var functions: [Function]
    /// All files but the manifest and the report, sorted by name.
    public var files: [File]
    public var coverage: CoverageSummary
    public var provenance: Provenance

    /// The weight blobs in their order.
    public var blobs: [File] { files.filter { $0.name.hasPrefix("weights-") } }
    /// The files passed through, without `assets/` before their names.
    public var assetNames: [String] {
        let prefix = PackageFormat.assetsFolder + "/"
        return files.map(\.name).filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
    /// Optional features that this tool does not know; it goes on without them.
    public var ignoredFeatures: [String] {
        optionalFeatures.filter { PackageFormat.Feature(rawValue: $0) == nil }
    }

    public func file(_ name: String) -> File? { files.first { $0.name == name } }
}

extension Manifest.Function {
    public init(_ function: FrozenProgram) {
        self.init(
            name: function.functionName, part: function.program.name, bindings: function.bindings,
            inputs: function.inputs, outputs: function.outputs, states: function.states,
            interface: function.program.interface)
    }
}

/// How much of a checkpoint is stored, and how.
public struct CoverageSummary: Equatable, Sendable {
    /// The tensors that one codec stores.
    public struct Share: Equatable, Sendable {
        /// The codec's specification.
        public var codec: String
        public var tensors: Int
        public var weights: Int
        public var byteCount: Int
    }
    /// Sorted by codec.
    public var shares: [Share]
    /// Tensors stored otherwise than the recipe's codec would; source-map.json has their reasons.
    public var exceptions: Int
    /// Tensors that no function reads.
    public var unused: Int

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

    public var weights: Int { shares.reduce(0) { $0 + $1.weights } }
    /// Stored bits a weight, tables included; 0 when there are no weights.
    public var bitsPerWeight: Double {
        weights == 0 ? 0 : Double(shares.reduce(0) { $0 + $1.byteCount }) * 8 / Double(weights)
    }
}
