import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Layers of MLX: codes in words of 32 bits, with scales, and in the mode `affine` with biases.
enum MLXLayerScheme: QuantizedScheme {
    static let title = "MLX"
    static let mark = ".scales"
    static let parts = [".weight", ".scales", ".biases"]

    static func fits(_ layer: QuantizedLayer) -> Bool { layer[".weight"]?.elementType == .uint32 }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        let (codes, scales) = (try layer.matrix(".weight", [.uint32]), try layer.tensor(".scales"))
        let block = layer.configuration.field
        guard layer.configuration.exists else {
            throw scales.error("config.json has no \(MLXQuantization.key) block, which MLX has for such layers")
        }
        guard let scheme = try MLXQuantization.scheme(of: layer.name, in: block) else {
            throw scales.error("the \(MLXQuantization.key) block of config.json says that the layer is plain")
        }
        let (rows, words) = codes.shape.matrix
        let columns = words * 32 / scheme.bits
        let shape: Shape = [rows, columns]
        guard scheme.codeShape(shape) == codes.shape, columns % scheme.group == 0,
            scheme.scaleShape(shape) == scales.shape
        else {
            throw codes.error(
                "codes of \(codes.shape) and scales of \(scales.shape) are not \(scheme.text), as config.json says")
        }
        guard let usual = scheme.specification(scales: scales.elementType) else {
            let wanted = scheme.mode == .affine ? "floats" : "U8"
            throw scales.error(
                "expected \(wanted), which the mode \(scheme.mode.rawValue) has, found "
                    + scales.elementType.rawValue)
        }
        var tensors = [codes, scales]
        if scheme.mode == .affine {
            tensors.append(try layer.tensor(".biases", [scales.elementType], scales.shape))
        } else if let biases = layer[".biases"] {
            throw biases.error("the mode \(scheme.mode.rawValue) has no biases")
        }
        let type = layer.recorded.type ?? (scheme.mode == .affine ? scales.elementType : .float32)
        let codec = try Codecs.codec(layer.recorded.scheme ?? usual)
        // Integers that accelc wrote as MLX has them.
        let isInteger = scheme.mode == .affine && ["int4": 4, "int8": 8][codec.name] == scheme.bits
        return .encoded(codec: codec.values.fullSpecification, shape: shape, elementType: type) { [tensors] in
            try isInteger ? MLXIntegers.integers(tensors, scheme, as: codec, shape) : tensors.map(\.bytes)
        }
    }
}
