public import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Writes a folder that CTranslate2 and faster-whisper load, with the bytes of CTranslate2's own converter.
public struct CTranslate2Exporter: Exporter {
    public static let name = "ctranslate2"
    public static let summary =
        "a CTranslate2 model (model.bin with config.json and vocabulary, also for faster-whisper)"
    public static let options = [quantization, betterScales]
    public static let output = OutputKind.ctranslate2Folder
    public static let version = 4
    public static let dependsOnShapes = false
    public static let mixesSchemes = false
    public static let plainScheme = "stored"

    static let quantization = ExportOption(
        "quantization", allowed: [CTranslate2Type.stored.name] + CTranslate2Type.all.map(\.name),
        help:
            "the type of the weights, by CTranslate2's names. own keeps floats in the types of their schemes"
    )
    public static func choice(forScheme scheme: String) -> (option: ExportOption, word: String)? {
        ["int8", "int16"].contains(scheme) ? (quantization, scheme) : nil
    }

    private static let betterScales = ExportOption(
        "better-scales", allowed: [],
        help:
            "quantize from the model's own floats. Without it weights are first rounded to the type in which CTranslate2's "
            + "converter loads them (float16 for int8_float16), so that the bytes equal the converter's")

    private let type: CTranslate2Type
    private let isExact: Bool

    public init(_ values: ExportOptionValues) {
        self.init(.named(values.word(Self.quantization)), isExact: values.has(Self.betterScales))
    }

    init(_ type: CTranslate2Type, isExact: Bool = false) { (self.type, self.isExact) = (type, isExact) }

    private static let roundsByItself =
        " (CTranslate2 rounds activations by itself, unless it is asked for compute_type float32)"

    public func check(_ model: PlannedExport) throws -> [String: String] {
        try model.functions.rejectInexpressible(in: "CTranslate2", detail: Self.roundsByItself)
        let wanted = try type(of: model.plan.map { ($0.source.name, $0.choice.codec) })
        let sources = model.plan.map(\.source)
        _ = try CTranslate2Model(
            sources, family: model.family, origins: model.origins,
            assets: model.assets.withCheckpointTokenizer())
        // The type is applied to the model's own floats, which is not rounded twice.
        return Dictionary(sources.map { ($0.name, wanted.name) }) { first, _ in first }
    }

    public func export(_ model: ExportedModel, to path: String) throws -> ExportReport {
        try model.program.functions.rejectInexpressible(in: "CTranslate2", detail: Self.roundsByItself)
        try model.rejectScaledChannels(in: "CTranslate2")
        let weights = model.program.weights.map(\.tensor)
        // Of a model, `check` has left floats and found the type; a package has the floats that it was made with.
        let found =
            try model.plain.values.first.map(CTranslate2Type.named) ?? type(of: weights.map { ($0.name, $0.codec) })
        let tensors = try weights.map { weight in
            if case .values(let type, let bytes)? = weight.encoding {
                return StoredTensor(
                    name: weight.name, elementType: type, shape: weight.shape, bytes: bytes, file: "the model's weights"
                )
            }
            // Codes of a CTranslate2 model, the largest of each row 127, become the same codes again.
            guard weight.codec.name == Int8Codec.name, found.codes == .int8, found.loaded == nil || isExact else {
                throw Self.unsupported(weight.codec, of: weight.name)
            }
            return StoredTensor(name: weight.name, floats: weight.floats(), shape: weight.shape)
        }
        let assets = try model.assets.withCheckpointTokenizer()
        let layout = try CTranslate2Model(tensors, family: model.family, origins: model.origins, assets: assets)
        let values = CTranslate2Values(found, elementType: layout.elementType, isExact: isExact)
        let folder = CTranslate2Folder(
            model: layout, values: values, assets: assets, provenance: model.provenance)
        return try folder.write(to: path)
    }

    public static func provenance(ofExport file: (_ name: String) throws -> ByteView?) throws -> [String: String] {
        try CTranslate2Folder.index.provenance(file)
    }

    private static func unsupported(_ codec: any WeightCodec, of weight: String) -> RequestError {
        let nearest = CTranslate2Type.nearest(isFloat: codec.name == "sparse")
        return RequestError(
            "weight \(quoted(weight)): CTranslate2 cannot express \(codec.name): it makes its codes of plain numbers",
            code: .unsupportedByFormat, candidates: [quantization.candidate(nearest)])
    }

    /// Returns the type of the model: that of the request, or the one type of floats that the weights have.
    /// - Throws: `RequestError` with the nearest type for a weight that is compressed.
    private func type(of weights: [(name: String, codec: any WeightCodec)]) throws -> CTranslate2Type {
        let floats: Set = [StoredCodec.name, "float32", "float16", "bfloat16"]
        if let (name, codec) = weights.first(where: { !floats.contains($0.codec.name) }) {
            throw Self.unsupported(codec, of: name)
        }
        guard type.name == CTranslate2Type.stored.name else { return type }
        let names = Set(weights.map(\.codec.name)).subtracting([StoredCodec.name]).sorted()
        guard names.count < 2 else {
            throw RequestError(
                "CTranslate2: a model has one type of floats, not \(names.joined(separator: " and ")): use one of them")
        }
        return names.first.map(CTranslate2Type.named) ?? .stored
    }
}
