import AccelByteIO
import AccelTensors

/// torchao's tensors of eight bits in safetensors files.
enum TorchAOScheme: QuantizedScheme {
    static let title = "torchao"
    static let mark = "._weight_qdata"
    static let parts = ["._weight_qdata", "._weight_scale", "._weight_zero_point", preScale]
    static let idleParts = [IdleParts.activations("._weight_act_quant_scale", "._weight_act_quant_zero_point")]
    /// SmoothQuant and AWQ multiply activations by it before the product.
    private static let preScale = "._weight_act_pre_scale"

    static func fits(_ layer: QuantizedLayer) -> Bool { true }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        let codes = try layer.mark
        switch codes.elementType {
        case .float8e4m3, .float8e5m2:
            for part in ["._weight_zero_point", preScale] {
                if let tensor = layer[part] { throw tensor.error("torchao's float8 tensors have none") }
            }
            return try Float8Scheme.weight(of: layer, codes: mark, scale: "._weight_scale")
        case .int8:
            let rows = try Int8Rows(
                layer, codes: mark, scales: "._weight_scale", zeros: "._weight_zero_point", hasLeast: true)
            guard layer[preScale] != nil else { return rows.weight() }
            let factors = try layer.tensor(preScale, StoredTensor.scaleTypes)
            let columns = rows.tiles.columns
            guard factors.shape == [columns] || factors.shape == [1, columns] else {
                throw factors.error("expected a factor for each of \(columns) columns, found \(factors.shape)")
            }
            return rows.scaled(byColumn: factors, "act_pre_scale multiplies columns, rounded once")
        default:
            throw RequestError(
                "\(codes.error("torchao's layout in \(codes.elementType.rawValue) is that of one GPU kernel")); convert the "
                    + "original model, or one quantized to int8 or float8", status: .unavailable)
        }
    }
}

/// quanto's qint8 and qfloat8.
enum QuantoScheme: QuantizedScheme {
    static let title = "quanto"
    static let mark = ".weight._scale"
    static let parts = [".weight._data", ".weight._scale"]
    static let idleParts = [IdleParts.activations(".input_scale", ".output_scale")]

    static func fits(_ layer: QuantizedLayer) -> Bool { true }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        guard let codes = layer[".weight._data"] else {
            throw RequestError(
                "\(try layer.mark.error("quanto's qint4 and qint2 are not supported")); convert the original model, or one "
                    + "quantized to qint8", status: .unavailable)
        }
        if codes.elementType != .int8 {
            return try Float8Scheme.weight(of: layer, codes: ".weight._data", scale: mark)
        }
        return try Int8Rows(layer, codes: ".weight._data", scales: mark, hasLeast: false).weight()
    }
}
