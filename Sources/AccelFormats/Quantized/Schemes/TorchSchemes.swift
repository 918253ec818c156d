import AccelByteIO
import AccelTensors

/// torchao's tensors of eight bits in safetensors files.
enum TorchAOScheme: QuantizedScheme {
    static let title = "torchao"
    static let mark = "._weight_qdata"
    static let parts = ["._weight_qdata", "._weight_scale", "._weight_zero_point", "._weight_act_pre_scale"]

    static func fits(_ layer: QuantizedLayer) -> Bool { true }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        let codes = try layer.mark
        switch codes.elementType {
        case .float8e4m3, .float8e5m2:
            return try Float8Scheme.weight(of: layer, codes: mark, scale: "._weight_scale")
        case .int8:
            let zeros = try layer["._weight_zero_point"].map { _ in
                try layer.tensor("._weight_zero_point", [.int8]).byteArray.map { Int8(bitPattern: $0) }
            }
            return try Int8Rows(
                layer.matrix(mark, [.int8]),
                scales: layer.tensor("._weight_scale", StoredTensor.scaleTypes).finiteScales(), zeros: zeros
            ).weight()
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
    static let parts = [".weight._data", ".weight._scale", ".input_scale", ".output_scale"]

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
        return try Int8Rows(
            layer.matrix(".weight._data", [.int8]),
            scales: layer.tensor(mark, StoredTensor.scaleTypes).finiteScales()
        ).weight()
    }
}
