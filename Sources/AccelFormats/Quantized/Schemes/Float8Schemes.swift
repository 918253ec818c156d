import AccelByteIO
import AccelTensors

/// Numbers of eight bits with `weight_scale_inv`, which multiplies in spite of its name (DeepSeek, Qwen3-FP8).
enum BlockFloat8Scheme: QuantizedScheme {
    static let title = "block FP8"
    static let mark = ".weight_scale_inv"
    static let parts = [".weight", ".weight_scale_inv", ".input_scale", ".activation_scale"]

    static func fits(_ layer: QuantizedLayer) -> Bool { Float8Scheme.isFloat8(layer) }
    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        try Float8Scheme.weight(of: layer, scale: mark)
    }
}

/// Numbers of eight bits with `weight_scale` (compressed-tensors, fbgemm, ModelOpt, MXFP8).
enum Float8Scheme: QuantizedScheme {
    static let title = "FP8"
    static let mark = ".weight_scale"
    static let parts = [
        ".weight", ".weight_scale", ".input_scale", ".input_scale_ub", ".k_scale", ".v_scale", ".output_scale",
    ]

    static func isFloat8(_ layer: QuantizedLayer) -> Bool {
        layer[".weight"].map { [.float8e4m3, .float8e5m2].contains($0.elementType) } ?? false
    }

    static func fits(_ layer: QuantizedLayer) -> Bool { isFloat8(layer) }
    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight { try weight(of: layer, scale: mark) }

    /// Returns a weight with the codes of a layer and the scales of one of its tensors.
    static func weight(
        of layer: QuantizedLayer, codes: String = ".weight", scale: String
    ) throws -> QuantizedWeight {
        let codes = try layer.matrix(codes, [.float8e4m3, .float8e5m2])
        let (rows, columns) = codes.shape.matrix
        let type = codes.elementType == .float8e5m2 ? "e5m2" : "e4m3"
        let tensor = try layer.tensor(scale, StoredTensor.scaleTypes + [.uint8])
        if tensor.elementType == .uint8, columns % 32 == 0, tensor.shape == [rows, columns / 32] {
            return .encoded(codec: "mxfp8:type=\(type)", shape: codes.shape, sections: [codes.bytes, tensor.bytes])
        }
        // Bytes are exponents of two with a bias of 127; 255 is NaN.
        let scales =
            tensor.elementType == .uint8
            ? tensor.byteArray.map { $0 == 255 ? .nan : Float(sign: .plus, exponent: Int($0) - 127, significand: 1) }
            : tensor.floats()
        if let index = scales.firstIndex(where: { !$0.isFinite }) {
            throw tensor.error("is \(scales[index]), but scales have to be finite", index: index)
        }
        let tiles: Shape = [(rows + 127) / 128, (columns + 127) / 128]
        let sharing: String
        if scales.count == 1 {
            sharing = "tensor"
        } else if tensor.shape == [rows] || tensor.shape == [rows, 1] {
            sharing = "channel"
        } else if tensor.shape == tiles {
            sharing = "block"
        } else {
            throw tensor.error(
                "scales of \(tensor.shape) are neither one, nor \(rows), nor \(tiles) for blocks of 128 x 128")
        }
        return .encoded(
            codec: "float8:type=\(type),scale=\(sharing)", shape: codes.shape,
            sections: [codes.bytes, ByteView(scales)])
    }
}
