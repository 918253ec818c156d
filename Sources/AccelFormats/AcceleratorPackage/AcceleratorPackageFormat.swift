import AccelByteIO
public import AccelPackages
import AccelPrograms
public import AccelTensors
import AccelWeightCompression

/// accelc's own packages: the graph of a model with its weights encoded.
public enum AcceleratorPackageFormat: ModelFormat {
    public static let name = "accelpkg"
    public static let title = "an accelerator package (.accelpkg)"
    public static let suffixes = [".accelpkg", ".zip"]

    public static func recognises(_ path: String) -> Bool { AcceleratorPackage.looksLikePackage(at: path) }

    public static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource {
        try options.rejectConfiguration(of: path, title)
        try options.rejectInterfaces("\(path) is \(title), which records the roles of its ports")
        return PackagedModel(try AcceleratorPackage(at: path))
    }
}

/// An accelerator package as a source: its graph with decoded weights.
public struct PackagedModel: ModelSource {
    /// The open package.
    public let package: AcceleratorPackage

    /// A source of an open package.
    public init(_ package: AcceleratorPackage) { self.package = package }

    public var format: any ModelFormat.Type { AcceleratorPackageFormat.self }
    public var path: String { package.path }
    public var abilities: Set<SourceAbility> { [.tensors, .graph, .plan, .check] }
    public var remarks: [String] { package.remarks }
    /// Empty, because the manifest has digests of all files of the package; see `knownSources`.
    public var files: ModelFiles { ModelFiles(in: path, holding: []) }
    /// The probe is of the package itself, and no file of its model.
    public var assets: [Asset] { get throws { try package.assets.filter { $0.name != PackageProbe.assetName } } }
    public var missingTensors: [String] { get throws { try package.unusedTensors.map(\.name) } }

    /// The package as one source. Its digest is the manifest's, which contains the digests of all other files.
    public var knownSources: [Provenance.Source] {
        let bytes = package.manifest.files.reduce(0) { $0 + $1.byteCount }
        return [Provenance.Source(name: "manifest.json", byteCount: bytes, digest: package.digest)]
    }

    public func check(progress: (_ file: String) -> Void) throws -> Bool {
        try package.check(progress: progress)
        return true
    }

    public var weightCount: Int { package.manifest.coverage.shares.reduce(0) { $0 + $1.tensors } }
    public var checkedFileCount: Int? { package.checkedFileCount }

    public func requireUnchanged() throws { try package.check() }

    public var weights: [SourceWeight] {
        get throws {
            try package.coverage.map { entry in
                let tensor = entry.tensor
                return SourceWeight(
                    name: tensor.name, shape: tensor.shape, scheme: tensor.codec.specification,
                    storedBits: tensor.byteCount * 8, codeBits: tensor.codeBits
                ) {
                    let values = tensor.values
                    guard let scaling = entry.scaling?.inverse else { return values }
                    var floats = values.floats()
                    floats.withUnsafeMutableBufferPointer { scaling.apply(to: $0, rows: 0..<tensor.shape.rows) }
                    return StoredTensor(name: tensor.name, floats: floats, shape: tensor.shape)
                }
            }
        }
    }

    public func decompress(
        to path: String, as elementType: ElementType, progress: (_ tensor: String) -> Void
    ) throws -> [String] {
        try package.decompress(to: path, as: elementType, progress: progress)
    }

    /// Builds the functions with decoded weights. Their precision is that of the package's encodings.
    public func model(
        parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        try package.check()
        let tensors = package.graph.tensors
        let values = Dictionary(tensors.map { ($0.name, $0.values) }) { first, _ in first }
        let functions = try package.graph.functions.map { function in
            try function.applying { $0.holding(values) }
        }
        let (provenance, names) = (package.manifest.provenance, package.graph.weightNames)
        let model = try SourceModel(
            family: provenance.family, version: provenance.familyVersion, functions: functions, parts: parts,
            ignoringUnknown: allowsIdlePatterns, schemes: [])
        let read = Set(model.programs.flatMap { $0.constants.map(\.name) })
        let coded = tensors.filter { names.contains($0.name) && !$0.isPlain && read.contains($0.name) }
        return model.keeping(Dictionary(coded.map { ($0.name, $0) }) { first, _ in first })
    }
}

extension CompressedTensor {
    /// Whether the section holds plain numbers, of the tensor's own type or float16.
    fileprivate var isPlain: Bool {
        sections.count == 1 && (codec.name == "stored" || codec.name == "float16")
    }

    /// The values as a tensor: the stored bytes for plain numbers, else float32 that is decoded when it is read.
    fileprivate var values: StoredTensor {
        let type: ElementType? = codec.name == "stored" ? elementType : codec.name == "float16" ? .float16 : nil
        if isPlain, let type, sections[0].count == shape.count * type.byteCount {
            return StoredTensor(name: name, elementType: type, shape: shape, bytes: sections[0])
        }
        return decoded()
    }
}
