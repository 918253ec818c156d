import AccelByteIO
import AccelModelFamilies
public import AccelPackages
public import AccelTensors
import AccelWeightCompression

/// A checkpoint with quantized weights, of Hugging Face or MLX: the programs of its family with decoded weights, and their
/// encodings.
public struct QuantizedSource: CheckpointSource {
    public let path: String
    public let format: any ModelFormat.Type
    private let checkpoint: Checkpoint
    private let isConfigured: Bool
    /// The weights whose codes a codec has, by name.
    private let encoded: [String: EncodedWeight]
    /// The bytes that the files have of these weights: more than the encoding has where they also state what follows from the scheme.
    private let fileBytes: [String: Int]
    /// The weights that are decoded, by name, each with the reason.
    private let decoded: [String: (tensor: StoredTensor, reason: String)]
    /// The tensors that are no parts of these.
    private let plain: [StoredTensor]
    private let titles: [String]
    /// Why tensors that belong to weights were not read.
    private let idleReasons: [String]
    /// The tool's own names and axes; nil for those of checkpoints.
    private let layout: TensorLayout?
    /// The order of axes in the files, by the names of tensors, where it is another one than that of checkpoints.
    private let orders: [String: AxisOrder]

    /// Reads the weights of a checkpoint; nil if none is quantized, and all have their usual names.
    /// - Parameters:
    ///   - format: the format that opened it.
    ///   - layout: the names and axes in the files; nil for those of checkpoints.
    /// - Throws: `FormatError` if tensors contradict each other; `RequestError` for a scheme that is not supported.
    init?(
        _ checkpoint: Checkpoint, path: String, isConfigured: Bool,
        format: any ModelFormat.Type = HuggingFaceFormat.self, layout: TensorLayout? = nil
    ) throws {
        let configuration = try QuantizationConfiguration(of: checkpoint)
        try QuantizedSchemes.rejectMarked(checkpoint)
        let record =
            format == MLXFormat.self || layout != nil ? try ExportRecord(in: checkpoint.folder) : ExportRecord()
        var (encoded, decoded) = ([String: EncodedWeight](), [String: (tensor: StoredTensor, reason: String)]())
        var (taken, titles, orders) = (Set<String>(), Set<String>(), [String: AxisOrder]())
        var idleReasons = Set<String>()
        var fileBytes: [String: Int] = [:]
        /// Returns the name of a tensor in checkpoints; nil if these do not have it.
        func place(_ name: String) throws -> String? {
            guard let layout else { return name }
            guard let place = layout.place(name) else { return nil }
            let own = record.names[name] ?? place.name
            guard orders.updateValue(place.order, forKey: own) == nil else {
                throw FormatError(
                    file: checkpoint.folder, location: .tensor(name, index: nil),
                    reason: "is another tensor's, too, by the name \(quoted(own)) in the checkpoint")
            }
            return own
        }
        for tensor in checkpoint.tensors {
            guard let layer = Self.layer(marked: tensor, in: checkpoint, configuration, record) else { continue }
            try configuration.reject(layer)
            taken.formUnion(layer.scheme.claimedParts.map { layer.name + $0 })
            titles.insert(layer.scheme.title)
            for idle in layer.scheme.idleParts where idle.names.contains(where: { layer[$0] != nil }) {
                idleReasons.insert(idle.reason)
            }
            guard let name = try place(layer.name + layer.scheme.weightName) else { continue }
            // The scheme is asked again for the numbers, so that no scales are kept.
            switch try layer.scheme.weight(of: layer) {
            case .encoded(let codec, let shape, let type, _):
                fileBytes[name] = layer.scheme.claimedParts.reduce(0) { $0 + (layer[$1]?.bytes.count ?? 0) }
                encoded[name] = try EncodedWeight(
                    name: name, elementType: type, shape: shape, codec: Codecs.codec(codec), file: tensor.file
                ) {
                    guard case .encoded(_, _, _, let sections) = try layer.scheme.weight(of: layer) else { return [] }
                    return try sections()
                }
            case .decoded(let shape, let reason, _):
                let values = DerivedBytes(count: shape.count * 4, partBytes: max(shape.count * 4, 1)) { range, target in
                    guard case .decoded(_, _, let values) = try layer.scheme.weight(of: layer) else { return }
                    try values().withUnsafeBytes {
                        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[range]))
                    }
                }
                let weight = StoredTensor(
                    name: name, elementType: .float32, shape: shape, bytes: ByteView(values), file: tensor.file)
                decoded[name] = (weight, reason)
            }
        }
        guard !titles.isEmpty || layout != nil else { return nil }
        if !titles.isEmpty {
            try configuration.rejectUnread(checkpoint)
            if configuration.quantizesActivations { idleReasons.insert(Self.roundedActivations) }
        }
        (self.checkpoint, self.path, self.isConfigured) = (checkpoint, path, isConfigured)
        (self.encoded, self.decoded, self.titles) = (encoded, decoded, titles.sorted())
        self.fileBytes = fileBytes
        let plain = try checkpoint.tensors.filter { !taken.contains($0.name) }.compactMap { tensor in
            try place(tensor.name).map { tensor.renamed($0) }
        }
        let added = (layout?.added ?? []).filter { added in !plain.contains { $0.name == added.name } }
        (self.plain, self.orders) = (plain + added, orders)
        (self.format, self.layout) = (format, layout)
        self.idleReasons = idleReasons.sorted()
    }

    private static let roundedActivations =
        "a configuration by which other runtimes round activations: they are not quantized here"

    private static func layer(
        marked tensor: StoredTensor, in checkpoint: Checkpoint, _ configuration: QuantizationConfiguration,
        _ record: ExportRecord
    ) -> QuantizedLayer? {
        for scheme in QuantizedSchemes.all where tensor.name.hasSuffix(scheme.mark) {
            let name = String(tensor.name.dropLast(scheme.mark.count))
            let weight = name + scheme.weightName
            let layer = QuantizedLayer(
                checkpoint: checkpoint, name: name, configuration: configuration, scheme: scheme,
                recorded: (record.schemes[weight], record.types[weight]))
            if scheme.fits(layer) { return layer }
        }
        return nil
    }

    public var abilities: Set<SourceAbility> { [.shapes, .tensors, .graph] }
    public var files: ModelFiles { checkpoint.reader }
    public var assets: [Asset] {
        let assets = checkpoint.assets.map { Asset(name: $0.name, content: $0.content) }
        return layout?.assets(assets) ?? assets
    }

    public var remarks: [String] {
        let reasons = Set(decoded.values.map(\.reason)).sorted()
        let lost = reasons.map { reason in
            let names = decoded.filter { $0.value.reason == reason }.keys.sorted()
            return
                "\(Wording.count(names.count, "weight")) of \(titles.joined(separator: ", ")) are decoded to their exact "
                + "values in float32, because \(reason) (\(names.prefix(3).joined(separator: ", ")))"
        }
        return checkpoint.remarks + lost + idleReasons.map { "the checkpoint has \($0)" }
    }

    public var weights: [SourceWeight] {
        let recent = RecentWeights()
        let kept = encoded.values.map { weight in
            SourceWeight(
                name: weight.name, shape: order(of: weight.name).undone(weight.shape),
                scheme: weight.codec.specification,
                storedBits: (fileBytes[weight.name] ?? weight.byteCount) * 8, codeBits: weight.codeBits
            ) { [self] in
                try ordered(weight.decoded(keeping: recent))
            }
        }
        return (kept + decoded.values.map { SourceWeight($0.tensor) } + plain.map { self.weight($0) })
            .sorted { $0.name < $1.name }
    }

    private func weight(_ tensor: StoredTensor) -> SourceWeight {
        let shape = order(of: tensor.name).undone(tensor.shape)
        return SourceWeight(
            name: tensor.name, shape: shape, scheme: tensor.elementType.rawValue, storedBits: tensor.bytes.count * 8,
            codeBits: Double(tensor.elementType.byteCount * 8)
        ) { [self] in try ordered(tensor) }
    }

    /// Returns a tensor of the files with the axes of checkpoints.
    private func ordered(_ tensor: StoredTensor) throws -> StoredTensor {
        try order(of: tensor.name).undone(in: tensor)
    }

    private func order(of name: String) -> AxisOrder { orders[name] ?? .same }

    var configuration: JSONField { layout?.configuration ?? checkpoint.configuration }

    public func model(
        parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        try model(
            of: decodedCheckpoint(), changed: [], parts: parts, ignoredTensors: ignoredTensors,
            allowsIdlePatterns: allowsIdlePatterns)
    }

    func decodedCheckpoint() throws -> Checkpoint {
        let recent = RecentWeights()
        let values = try encoded.values.map { try ordered($0.decoded(keeping: recent)) }
        let paths = QuantizationConfiguration.keys.flatMap { [$0, "text_config.\($0)"] }
        let configuration = paths.reduce(configuration) { $0.removing($1) ?? $0 }
        return checkpoint.replacing(
            tensors: try plain.map(ordered) + values + decoded.values.map { try ordered($0.tensor) },
            configuration: configuration)
    }

    func model(
        of original: Checkpoint, changed: Set<String>, parts: [String], ignoredTensors: [String],
        allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        try HuggingFaceModel(original, path: path, isConfigured: isConfigured)
            .model(parts: parts, ignoredTensors: ignoredTensors, allowsIdlePatterns: allowsIdlePatterns)
            .made(
                of: encoded.filter { !changed.contains($0.key) }, in: Set(checkpoint.tensors.map(\.name)),
                transposed: Set(orders.filter { $0.value == .transposed }.keys))
    }
}
