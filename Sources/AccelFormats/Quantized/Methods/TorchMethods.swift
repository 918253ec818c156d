import AccelByteIO
import AccelModelFamilies
import AccelTensors

/// torchao: the metadata of its files describe each tensor.
enum TorchAOMethod: QuantizationMethod {
    static let names = ["torchao"]
    static let marks = ["quant_type"]
    static let schemes: [any QuantizedScheme.Type] = [TorchAOScheme.self]
    static let inertFields = [
        InertFields(
            "selects what to quantize; the metadata of the weights' file describes each tensor",
            ["quant_type", "quant_type_kwargs", "include_input_output_embeddings", "untie_embedding_weights"])
    ]
    /// The fields of a tensor's description that change nothing.
    private static let inertAttributes =
        [InertFields].ofActivations + [
            InertFields("is the type that the framework computes in", ["dtype"]),
            InertFields("selects kernels", ["mm_config", "kernel_preference"]),
            InertFields("belongs to the search for scales", ["reduce_range"]),
        ]
    private static let kinds = ["Int8Tensor", "Float8Tensor", "IntxUnpackedToInt8Tensor"]

    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement] {
        guard let description = try description(of: layer) else { return [] }
        let kind = description["_type"]
        guard case let name = try kind.string(), kinds.contains(name) else {
            throw RequestError(
                "\(kind.error("torchao's \(try kind.string()) is not supported")); convert the original model, or one quantized "
                    + "to int8 or float8", status: .unavailable)
        }
        for part in try description["_tensor_data_names"].array() {
            let end = "._weight_\(try part.string())"
            guard layer[end] != nil else {
                throw try layer.mark.error("there is no \(quoted(layer.name + end)), which the file's metadata list")
            }
        }
        let attributes = description["_data"]
        var statement = LayerStatement(field: attributes)
        statement.isFloat = name == "Float8Tensor"
        let target = attributes["target_dtype"]
        if target.exists { try rejectRange(layer, target["_data"], target["_type"]) }
        let block = attributes["block_size"]
        if block.exists {
            // An empty block is the whole tensor.
            statement.sharing = try block.array().isEmpty ? .tensor : block.blockSharing()
        }
        try rejectUnusedZeros(layer, name, statement.sharing)
        try description.rejectUnread(inertAttributes.under(attributes.path)) { _ in nil }
        return [statement]
    }

    /// Rejects zero points of rows in tensors whose product does not subtract them, though `dequantize` does.
    private static func rejectUnusedZeros(_ layer: QuantizedLayer, _ kind: String, _ sharing: ScaleSharing?) throws {
        guard kind == "Int8Tensor", let zeros = layer["._weight_zero_point"],
            zeros.byteArray.contains(where: { $0 != 0 }), let columns = try layer.mark.shape.dimensions.last
        else { return }
        if case .block(_, let width)? = sharing, width < columns { return }
        throw RequestError(
            "\(zeros.error("torchao's product does not subtract such zero points, which are not supported"))",
            status: .unavailable)
    }

    /// Rejects codes outside of the range of their type, such as `int4`.
    private static func rejectRange(_ layer: QuantizedLayer, _ target: JSONField, _ kind: JSONField) throws {
        let name = try target.string()
        _ = kind
        guard name.hasPrefix("int"), let bits = Int(name.dropFirst(3)), (1...8).contains(bits) else {
            throw target.error("expected int1 to int8")
        }
        let (codes, half) = (try layer.mark, 1 << (bits - 1))
        guard codes.elementType == .int8 else { return }
        if let index = codes.byteArray.firstIndex(where: { !(-half..<half).contains(Int(Int8(bitPattern: $0))) }) {
            throw codes.error("is outside of the range of \(name), which the file's metadata state", index: index)
        }
    }

    /// Returns the description of a layer's weight in the metadata of its file; nil if there is none.
    private static func description(of layer: QuantizedLayer) throws -> JSONField? {
        let mark = try layer.mark
        let name = "\(layer.name).weight"
        for file in layer.checkpoint.files where file.path == mark.file {
            guard let text = file.metadata.first(where: { $0.key == name })?.value else { continue }
            return JSONField(
                try JSON.parse(ByteView(Array(text.utf8)), file: file.path), file: file.path,
                path: "__metadata__.\(name)"
            ).recording()
        }
        return nil
    }
}

/// quanto.
enum QuantoMethod: QuantizationMethod {
    static let names = ["quanto"]
    static let schemes: [any QuantizedScheme.Type] = [QuantoScheme.self]
    static let inertFields: [InertFields] = []

    static func check(
        _ configuration: QuantizationConfiguration, _ checkpoint: Checkpoint
    ) throws -> [InertFields] {
        _ = configuration["weights"]
        return []
    }

    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement] {
        let weights = configuration["weights"]
        guard weights.exists else { return [] }
        var statement = LayerStatement(field: weights)
        let name = try weights.string()
        statement.isFloat = name.contains("float")
        statement.bits = name.contains("8") ? 8 : name.contains("4") ? 4 : 2
        return [statement]
    }

    static func quantizesActivations(_ configuration: QuantizationConfiguration) -> Bool {
        configuration["activations"].exists
    }
}
