import AccelByteIO
public import AccelPackages
public import AccelTensors
import AccelWeightCompression

/// A quantized MLX model as a source: the programs of its family with decoded weights.
public struct MLXSource: ModelSource {
    public let path: String
    /// The open checkpoint, with the tensors of the files.
    private let checkpoint: Checkpoint
    /// The quantized weights by name.
    private let encoded: [String: CompressedTensor]
    /// The other tensors.
    private let plain: [StoredTensor]

    /// Reads the weights of an open checkpoint.
    /// - Throws: `FormatError` if tensors and the `quantization` block contradict each other; `RequestError` for another mode
    ///   than affine.
    init(_ checkpoint: Checkpoint, path: String) throws {
        (self.checkpoint, self.path) = (checkpoint, path)
        let reader = MLXWeightReader(
            checkpoint, try MLXQuantization(parsing: checkpoint.configuration[MLXQuantization.key]),
            try MLXFolder.origins(in: checkpoint.folder))
        (encoded, plain) = try reader.weights()
    }

    public var format: any ModelFormat.Type { MLXFormat.self }
    public var abilities: Set<SourceAbility> { [.tensors, .graph] }
    public var remarks: [String] { checkpoint.remarks }
    public var files: ModelFiles { checkpoint.reader }
    public var assets: [Asset] { checkpoint.assets.map { Asset(name: $0.name, content: $0.content) } }

    public var weights: [SourceWeight] {
        let quantized = encoded.values.map { weight in
            SourceWeight(
                name: weight.name, shape: weight.shape, scheme: weight.codec.specification,
                storedBits: weight.byteCount * 8
            ) {
                StoredTensor(name: weight.name, floats: weight.floats(), shape: weight.shape)
            }
        }
        return (quantized + plain.map { SourceWeight($0) }).sorted { $0.name < $1.name }
    }

    public func model(
        parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        try MachineMemory.require(
            MachineMemory.sum(encoded.values.map { $0.shape.count * 4 }), for: "the decoded weights of \(path)")
        let decoded = encoded.values.map { StoredTensor(name: $0.name, floats: $0.floats(), shape: $0.shape) }
        let configuration = [MLXQuantization.key, MLXQuantization.copyKey].reduce(checkpoint.configuration) {
            $0.removing($1) ?? $0
        }
        let original = checkpoint.replacing(tensors: plain + decoded, configuration: configuration)
        return try HuggingFaceModel(original, path: path)
            .model(parts: parts, ignoredTensors: ignoredTensors, allowsIdlePatterns: allowsIdlePatterns)
            .made(of: encoded, in: Set(checkpoint.tensors.map(\.name)))
    }
}

/// Reads the quantized layers of a checkpoint.
private struct MLXWeightReader {
    private let checkpoint: Checkpoint
    private let quantization: MLXQuantization
    /// The codecs of weights that accelc quantized, and their types in the checkpoint, by name.
    private let origins: (schemes: [String: String], types: [String: ElementType])

    init(
        _ checkpoint: Checkpoint, _ quantization: MLXQuantization,
        _ origins: (schemes: [String: String], types: [String: ElementType])
    ) {
        (self.checkpoint, self.quantization, self.origins) = (checkpoint, quantization, origins)
    }

    /// Returns the quantized weights, and all tensors that are not parts of one.
    func weights() throws -> (encoded: [String: CompressedTensor], plain: [StoredTensor]) {
        var (encoded, plain) = ([String: CompressedTensor](), [StoredTensor]())
        for tensor in checkpoint.tensors {
            let layer = tensor.name.split(separator: ".").dropLast().joined(separator: ".")
            guard let scales = checkpoint["\(layer).scales"], let codes = checkpoint["\(layer).weight"] else {
                plain.append(tensor)
                continue
            }
            if tensor.name == codes.name {
                encoded[codes.name] = try weight(layer, codes, scales)
            } else if tensor.name != scales.name, tensor.name != "\(layer).biases" {
                plain.append(tensor)
            }
        }
        return (encoded, plain)
    }

    private func weight(_ layer: String, _ codes: StoredTensor, _ scales: StoredTensor) throws -> CompressedTensor {
        guard let scheme = quantization.scheme(of: layer) else {
            throw scales.error("the \(MLXQuantization.key) block of config.json says that the layer is plain")
        }
        guard let biases = checkpoint["\(layer).biases"] else {
            throw scales.error("there is no \(quoted("\(layer).biases")), which the mode affine has beside it")
        }
        guard codes.elementType == .uint32, codes.shape.rank == 2 else {
            throw codes.error("expected a matrix of U32, found \(codes.elementType.rawValue) \(codes.shape)")
        }
        let columns = codes.shape.dimensions[1] * 32 / scheme.bits
        let shape: Shape = [codes.shape.dimensions[0], columns]
        guard scheme.codeShape(shape) == codes.shape, columns % scheme.group == 0,
            scheme.scaleShape(shape) == scales.shape
        else {
            throw codes.error(
                "codes of \(codes.shape) and scales of \(scales.shape) are not of \(scheme.bits) bits in groups of "
                    + "\(scheme.group), as config.json says")
        }
        guard biases.shape == scales.shape, biases.elementType == scales.elementType,
            let usual = scheme.specification(scales: scales.elementType)
        else {
            throw biases.error(
                "expected \(scales.elementType.rawValue) \(scales.shape) as the scales have it, and floats, found "
                    + "\(biases.elementType.rawValue) \(biases.shape)")
        }
        return try CompressedTensor(
            name: codes.name, elementType: origins.types[codes.name] ?? scales.elementType, shape: shape,
            codec: try Codecs.codec(origins.schemes[codes.name] ?? usual),
            sections: [codes, scales, biases].map(\.bytes), file: codes.file)
    }
}
