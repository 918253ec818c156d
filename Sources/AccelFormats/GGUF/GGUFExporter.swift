public import AccelByteIO
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Writes a folder with a GGUF file that llama.cpp loads, or several files of a large model.
public struct GGUFExporter: Exporter {
    public static let name = "gguf"
    public static let summary = "a GGUF file with the tokenizer, for llama.cpp (OUT.gguf, or OUT/model.gguf)"
    public static let options = [ExportOption.allowFallback]
    public static let output = GGUFFolder.list.kind
    public static func singleFile(for output: String) -> (name: String, kind: OutputKind)? {
        guard output.hasSuffix(GGUFFolder.suffix), Files.kind(of: output) != .folder else { return nil }
        return ("model\(GGUFFolder.suffix)", GGUFFolder.fileKind)
    }
    public static let version = 9
    public static let dependsOnShapes = false
    public static let plainScheme = "stored"

    private let allowsFallback: Bool
    /// The size at which a new file begins. The hub of Hugging Face takes files of up to 50 GB.
    private let shardBytes: Int

    public init(_ values: ExportOptionValues) {
        self.init(allowsFallback: values.has(.allowFallback))
    }

    init(allowsFallback: Bool, shardBytes: Int = 40 << 30) {
        (self.allowsFallback, self.shardBytes) = (allowsFallback, shardBytes)
    }

    public func check(_ model: PlannedExport) throws -> [String: String] {
        try model.functions.rejectInexpressible(in: "GGUF")
        let architecture = try GGUFArchitecture.family(model.family)
        _ = try GGUFSettings(of: model.assets, for: architecture)
        let targets = try GGUFTarget.targets(
            of: model.plan.map { ($0.source.name, $0.source.shape) }, in: architecture, model.origins)
        var (gaps, rejections) = ([String: String](), WeightRejections())
        for weight in model.plan {
            let (codec, source) = (weight.choice.codec, weight.source)
            guard let target = targets[source.name] else { continue }
            let storage = target.storage(of: codec, elementType: source.elementType, shape: source.shape)
            // Compressing or rounding what is stored as float32 in any case would only lose accuracy.
            if case .floats = storage, codec.plainType(of: source.elementType) != source.elementType {
                gaps[source.name] = "llama.cpp reads \(target.name) in float32 only"
            }
            if case .unsupported(let scheme) = storage { rejections.add(source.name, scheme) }
        }
        if !allowsFallback { try rejections.reject() }
        return gaps.merging(rejections.reasons) { $1 }
    }

    public static func held(_ model: SourceModel) throws -> SourceModel {
        guard let architecture = GGUFArchitecture.all.first(where: { $0.family == model.family }) else { return model }
        return try model.leavingOut(outputsOf: { GGUFTarget.isLeftOut($0, architecture) }, remark: leftOut)
    }

    private static let leftOut = "the pooler is left out, because llama.cpp does not read it"

    public func export(_ model: ExportedModel, to path: String) throws -> ExportReport {
        try model.program.functions.rejectInexpressible(in: "GGUF")
        try model.rejectScaledChannels(in: "GGUF")
        let architecture = try GGUFArchitecture.family(model.family)
        let settings = try GGUFSettings(of: model.assets, for: architecture)
        let tokenizer = try GGUFTokenizer(of: model.assets, vocabulary: settings.vocabulary)
        let weights = model.program.weights.map(\.tensor)
        let targets = try GGUFTarget.targets(of: weights.map { ($0.name, $0.shape) }, in: architecture, model.origins)
        let placed = try weights.compactMap { weight in
            try targets[weight.name].map { target in
                let tensor = try target.tensor(of: weight, heads: settings.heads, keyHeads: settings.keyHeads)
                return (matrix: GGUFMix.Matrix(module: target.module, shape: tensor.shape), tensor: tensor)
            }
        }.sorted { ($0.matrix.module.layer ?? -1, $0.tensor.name) < ($1.matrix.module.layer ?? -1, $1.tensor.name) }
        let fileType = GGUFMix.fileType(of: placed.filter { $0.tensor.shape.rank > 1 }, architecture)
        let tensors = placed.map(\.tensor)
        let matrices = tensors.filter { $0.shape.rank > 1 }
        let folder = GGUFFolder(
            metadata: Self.general(architecture, fileType) + settings.metadata + tokenizer.metadata
                + [
                    (GGUFFolder.typesKey, GGUFFolder.types(of: weights, targets)),
                    (GGUFFolder.schemesKey, GGUFFolder.schemes(of: weights, targets)),
                ],
            tensors: settings.tensors + tensors, provenance: model.provenance)
        try folder.write(to: path, shardBytes: shardBytes)
        var remarks = settings.remarks + (tokenizer.remark.map { [$0] } ?? [])
        if weights.contains(where: { GGUFTarget.isLeftOut($0.name, architecture) }) {
            remarks.append(Self.leftOut)
        }
        // Vectors are numbers of float32 in every file of llama.cpp.
        let vectors = Set(weights.filter { $0.shape.rank < 2 }.map(\.name))
        return try report(
            folder, in: path, matrices, weights.filter { targets[$0.name] != nil }, remarks,
            model.plain.filter { !vectors.contains($0.key) })
    }

    private static func general(
        _ architecture: GGUFArchitecture, _ fileType: UInt32
    ) -> [(key: String, value: GGUFValue)] {
        [
            ("general.architecture", .string(architecture.name)), ("general.file_type", .uint32(fileType)),
            ("general.quantization_version", .uint32(2)),
        ]
    }

    private func report(
        _ folder: GGUFFolder, in path: String, _ matrices: [GGUFTensor], _ weights: [CompressedTensor],
        _ remarks: [String], _ plain: [String: String]
    ) throws -> ExportReport {
        let count = weights.reduce(0) { $0 + $1.shape.count }
        let types = NameCounts(matrices.map(\.type.name))
        return ExportReport(
            bitsPerWeight: count == 0 ? 0 : Double(folder.byteCount * 8) / Double(count),
            lines: ["matrices: \(types)"],
            warnings: PlainWeights(plain, of: weights).warnings + remarks,
            json: [
                "matrices": .object(types.mostFirst.map { JSON.Member($0.name, .integer(Int64($0.count))) }),
                "parameters": .integer(Int64(count)),
            ])
    }

    public static func provenance(ofExport file: (_ name: String) throws -> ByteView?) throws -> [String: String] {
        try ExportList.provenance(file)
    }
}
