public import AccelByteIO
public import AccelTensors
public import AccelWeightCompression

/// The key of a cached result: everything that determines its bytes, and nothing else. Paths, times, host and number of
/// threads are not part of it. schemas/cache-key.md lists every input.
public struct CacheKey: Hashable, Sendable {
    /// The kind of a result.
    public enum Kind: String, Sendable, CaseIterable {
        /// The encoding of one tensor.
        case tensor
        /// A package.
        case package
        /// A model in another format.
        case export
        /// The activation statistics of a weight.
        case statistics
        /// The schemes that a target has chosen, with all that was measured for it.
        case compressionPlan = "compression plan"
        /// The weights of a package as the kernels of a processor pack them: derived, and evicted first.
        case packedWeights = "packed weights"
    }
    /// A named input of the result.
    public struct Field: Hashable, Sendable {
        /// The name, unique in the key.
        public var name: String
        /// The value as text.
        public var value: String
        /// Creates a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The kind of the result.
    public let kind: Kind
    /// The inputs in a fixed order, with distinct names.
    public let fields: [Field]
    /// SHA-256 over the domain, the kind and the fields, each preceded by its length.
    public let digest: Digest

    init(kind: Kind, fields: [Field]) {
        self.kind = kind
        self.fields = fields
        var writer = ByteWriter()
        for text in ["accelc/ac/1", kind.rawValue] + fields.flatMap({ [$0.name, $0.value] }) {
            writer.append(UInt64(text.utf8.count))
            writer.append(text)
        }
        digest = SHA256.digest(of: writer.view)
    }

    /// The key of one compressed tensor.
    /// - Parameters:
    ///   - content: the `TreeDigest` of the tensor's bytes; its name and file do not matter.
    ///   - statistics: the digest of the activation statistics that the codec gets; nil for none.
    ///   - versions: the numerics versions of codecs; others in tests.
    ///   - calibration: `Tool.calibrationVersion`, which counts with statistics; another one in tests.
    public init(
        tensor content: Digest, elementType: ElementType, shape: Shape, codec: any WeightCodec,
        statistics: Digest? = nil, versions: [String: Int] = Codecs.numericsVersions,
        calibration: Int = Tool.calibrationVersion
    ) {
        let layers = codec.values.layers.map { "\($0.codec) \(versions[$0.codec] ?? 0)" }
        self.init(
            kind: .tensor,
            fields: [
                Field("codecs", layers.joined(separator: ", ")),
                Field("element type", elementType.rawValue),
                Field("shape", shape.description),
                // Every option, including defaults, because a default may change between versions.
                Field("codec", codec.values.fullRequest),
                Field("content", content.description),
            ]
                + (statistics.map {
                    [Field("statistics", $0.description), Field("calibration version", "\(calibration)")]
                } ?? []))
    }

    /// The key of a package.
    /// - Parameters:
    ///   - sources: every file of the model that the conversion reads.
    ///   - parts: the requested parts; empty for all.
    ///   - shapes: the bindings of each frozen function, in the order of the request.
    ///   - options: other options that affect the output, by name.
    ///   - versions: the versions of family, passes and codecs.
    public init(
        sources: [Provenance.Source], parts: [String], shapes: [String], recipe: JSON,
        options: [(name: String, value: String)] = [], versions: ResultVersions = ResultVersions(),
        toolVersion: String = Tool.version
    ) {
        self.init(
            kind: .package,
            fields: [
                Field("format", "\(PackageFormat.major).\(PackageFormat.minor)"),
                Field("tool version", toolVersion),
            ] + versions.fields + [
                Field("parts", parts.joined(separator: ",")),
                Field("shapes", shapes.joined(separator: " ")),
                Field("recipe", recipe.text()),
            ] + options.sorted { $0.name < $1.name }.map { Field("option \($0.name)", $0.value) }
                + Self.fields(of: sources))
    }

    /// Returns the fields of a model's files, for results that depend on all of them.
    static func fields(of sources: [Provenance.Source]) -> [Field] {
        sources.sorted { $0.name < $1.name }.map {
            Field("source \($0.name)", "\($0.byteCount) bytes, \($0.digest)")
        }
    }

    /// The key of an export of the package with another key.
    /// - Parameters:
    ///   - format: the exporter's name and version.
    ///   - choices: the exporter's options with explicit defaults.
    public init(exporting package: CacheKey, as format: String, choices: [(name: String, value: String)]) {
        self.init(
            kind: .export,
            fields: [Field("export format", format)] + choices.map { Field("export \($0.name)", $0.value) }
                + package.fields)
    }

    /// The key of an export of an existing package.
    /// - Parameter package: the package digest.
    public init(
        exporting package: Digest, as format: String, choices: [(name: String, value: String)],
        toolVersion: String = Tool.version
    ) {
        self.init(
            kind: .export,
            fields: [Field("export format", format)] + choices.map { Field("export \($0.name)", $0.value) } + [
                Field("tool version", toolVersion),
                Field("package", package.description),
            ])
    }
}
