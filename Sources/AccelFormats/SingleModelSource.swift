import AccelByteIO
import AccelPackages
import AccelTensors
import AccelWeightCompression

/// A source whose files have one whole model with a configuration of their own: the programs of its family with decoded weights, under
/// the names of checkpoints.
protocol SingleModelSource: ModelSource {
    /// The folder of the files.
    var folder: String { get }
    /// The model's configuration, as a checkpoint has it.
    var configuration: JSONField { get }
    /// The model's other JSON files, by their names in checkpoints; nil if those of the folder belong to it.
    var documents: [String: JSON]? { get }
    /// The files of the model's tokenizer, where the model's file has one.
    var tokenizerAssets: [Asset] { get }
    /// The importer and its version, for cache keys; nil for one whose results have not changed.
    static var importer: String? { get }
    /// The encoded weights, by their names in checkpoints.
    var encoded: [String: EncodedWeight] { get }
    /// The bytes of encoded weights in the files, where these are not those of their encoding.
    var fileBytes: [String: Int] { get }
    /// The other tensors, under their names in checkpoints.
    var plain: [StoredTensor] { get }
    /// The types of other tensors in the files, where these are not those of the checkpoint that they state.
    var fileTypes: [String: ElementType] { get }
    /// The names of the tensors in the files.
    var names: Set<String> { get }
    /// Whether a tensor of checkpoints has its axes the other way round.
    func isTransposed(_ name: String) -> Bool
}

extension SingleModelSource {
    func isTransposed(_ name: String) -> Bool { false }
    var documents: [String: JSON]? { nil }
    var tokenizerAssets: [Asset] { [] }
    static var importer: String? { nil }
    var fileBytes: [String: Int] { [:] }
    var fileTypes: [String: ElementType] { [:] }

    public var abilities: Set<SourceAbility> { [.tensors, .graph] }

    /// The configuration, and other JSON files, that stand for what the files say, so that packages can be exported.
    public var assets: [Asset] {
        let others = (documents ?? [:]).sorted { $0.key < $1.key }
        return ([(GGUFSettings.fileName, configuration.value ?? .null)] + others.map { ($0.key, $0.value) }).map {
            Asset(name: $0, content: ByteView(Array($1.text(pretty: true).utf8)))
        } + tokenizerAssets
    }

    public var weights: [SourceWeight] {
        let recent = RecentWeights()
        let quantized = encoded.values.map { weight in
            SourceWeight(
                name: weight.name, shape: weight.shape, scheme: weight.codec.specification,
                storedBits: (fileBytes[weight.name] ?? weight.byteCount) * 8, codeBits: weight.codeBits
            ) { weight.decoded(keeping: recent) }
        }
        return (quantized + plain.map { SourceWeight($0, storedAs: fileTypes[$0.name]) }).sorted { $0.name < $1.name }
    }

    public func model(
        parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        let recent = RecentWeights()
        let tensors = (plain + encoded.values.map { $0.decoded(keeping: recent) }).map {
            isTransposed($0.name) ? $0.transposed() : $0
        }
        let checkpoint = Checkpoint(reading: files, configuration: configuration)
            .replacing(tensors: tensors, configuration: configuration, documents: documents)
        return try HuggingFaceModel(checkpoint, path: path)
            .model(parts: parts, ignoredTensors: ignoredTensors, allowsIdlePatterns: allowsIdlePatterns)
            .made(of: encoded, in: names, transposed: Set(encoded.keys.filter { isTransposed($0) }), by: Self.importer)
    }
}
