public import AccelByteIO
public import AccelTensors
public import AccelWeightCompression

/// Names what a cached result is the result of: all that decides its bytes, and nothing else. Paths, times, the host and
/// the number of threads are not in it. schemas/cache-key.md lists every input.
public struct CacheKey: Hashable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        /// One source tensor, compressed.
        case tensor
        /// A whole package.
        case package
        /// A model in another tool's format.
        case export
        /// What samples tell of a weight's inputs.
        case statistics
    }
    public struct Field: Hashable, Sendable {
        public var name: String
        public var value: String
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public let kind: Kind
    /// In their order; no two have the same name.
    public let fields: [Field]
    /// SHA-256 over the domain, the kind and the fields, each with its length before it.
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

    /// The result of compressing one tensor.
    /// - Parameters:
    ///   - content: `TreeDigest` of the tensor's bytes. Its name and file do not matter.
    ///   - statistics: digest of what the codec was told of the weight's inputs; nil: nothing.
    ///   - versions: of codecs' numerics; others for tests.
    public init(
        tensor content: Digest, elementType: ElementType, shape: Shape, codec: any WeightCodec,
        statistics: Digest? = nil, versions: [String: Int] = Codecs.numericsVersions
    ) {
        let layers = codec.values.layers.map { "\($0.codec) \(versions[$0.codec] ?? 0)" }
        self.init(
            kind: .tensor,
            fields: [
                Field("codecs", layers.joined(separator: ", ")),
                Field("element type", elementType.rawValue),
                Field("shape", shape.description),
                // Every option, defaults too: a default may change between versions.
                Field("codec", codec.values.fullRequest),
                Field("content", content.description),
            ] + (statistics.map { [Field("statistics", $0.description)] } ?? []))
    }

    /// The result of a whole conversion.
    /// - Parameters:
    ///   - sources: every file of the model that the conversion reads.
    ///   - parts: the parts asked for; empty for all.
    ///   - shapes: the bindings of each frozen function, in the order asked for.
    ///   - options: further options that affect the output, by name.
    ///   - versions: of what makes the package.
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

    /// Every file of a model, for whatever depends on all of them.
    static func fields(of sources: [Provenance.Source]) -> [Field] {
        sources.sorted { $0.name < $1.name }.map {
            Field("source \($0.name)", "\($0.byteCount) bytes, \($0.digest)")
        }
    }

    /// The result of exporting what a package's key names.
    /// - Parameters:
    ///   - format: the exporter's name and version.
    ///   - choices: the exporter's options, defaults written out.
    public init(exporting package: CacheKey, as format: String, choices: [(name: String, value: String)]) {
        self.init(
            kind: .export,
            fields: [Field("export format", format)] + choices.map { Field("export \($0.name)", $0.value) }
                + package.fields)
    }

    /// The result of exporting a package that is there.
    /// - Parameter package: its digest.
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
