import AccelByteIO
import AccelTensors

/// `mxfp4-pack-quantized` of compressed-tensors.
enum PackedMXFP4Scheme: QuantizedScheme {
    static let title = "compressed-tensors MXFP4"
    static let mark = ".weight_packed"
    static let parts = [".weight_packed", ".weight_scale", ".weight_shape"]
    static let idleParts = [IdleParts.activations(".input_scale"), .caches]

    static func fits(_ layer: QuantizedLayer) -> Bool {
        layer[".weight_packed"]?.elementType == .uint8 && layer[".weight_scale"]?.elementType == .uint8
    }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        let codes = try layer.matrix(".weight_packed", [.uint8])
        let (rows, columns) = (codes.shape.matrix.rows, codes.shape.matrix.columns * 2)
        let scales = try layer.tensor(".weight_scale", [.uint8], [rows, columns / 32])
        guard columns % 32 == 0 else { throw codes.error("\(columns) columns are not whole blocks of 32") }
        if let sizes = layer[".weight_shape"], sizes.integers() != [Int64(rows), Int64(columns)] {
            throw sizes.error("expected \(rows) x \(columns), which the codes have")
        }
        try layer.agreeing(
            with: LayerFacts(bits: 4, isFloat: true, format: ["mxfp4-pack-quantized"]), scales: scales.shape, rows,
            columns)
        return .encoded(codec: "mxfp4", shape: [rows, columns]) { [codes.bytes, scales.bytes] }
    }
}

/// `nvfp4-pack-quantized` of compressed-tensors: the scale of the tensor divides.
enum PackedNVFP4Scheme: QuantizedScheme {
    static let title = "compressed-tensors NVFP4"
    static let mark = ".weight_packed"
    static let parts = [".weight_packed", ".weight_scale", ".weight_global_scale"]
    static let idleParts = [IdleParts.activations(".input_global_scale"), .caches]

    static func fits(_ layer: QuantizedLayer) -> Bool { layer[".weight_global_scale"] != nil }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        try nvfp4(layer, codes: ".weight_packed", global: ".weight_global_scale", as: "divisor")
    }

    /// Returns a weight with the codes and scales of a layer.
    static func nvfp4(
        _ layer: QuantizedLayer, codes: String, global: String, as use: String
    ) throws -> QuantizedWeight {
        let codes = try layer.matrix(codes, [.uint8])
        let (rows, columns) = (codes.shape.matrix.rows, codes.shape.matrix.columns * 2)
        guard columns % 16 == 0 else { throw codes.error("\(columns) columns are not whole blocks of 16") }
        let scales = try layer.tensor(".weight_scale", [.float8e4m3], [rows, columns / 16])
        let whole = try layer.tensor(global, [.float32])
        guard whole.shape.count == 1 else { throw whole.error("expected one number, found \(whole.shape)") }
        try layer.agreeing(
            with: LayerFacts(bits: 4, isFloat: true, format: ["nvfp4-pack-quantized"]), scales: scales.shape, rows,
            columns)
        return .encoded(
            codec: "nvfp4:global=\(use)", shape: [rows, columns]
        ) {
            [codes.bytes, scales.bytes, whole.bytes]
        }
    }
}

/// NVFP4 of ModelOpt: the scale of the tensor multiplies.
enum ModelOptNVFP4Scheme: QuantizedScheme {
    static let title = "ModelOpt NVFP4"
    static let mark = ".weight_scale_2"
    static let parts = [".weight", ".weight_scale", ".weight_scale_2"]
    static let idleParts = [IdleParts.activations(".input_scale", ".output_scale"), .caches]

    static func fits(_ layer: QuantizedLayer) -> Bool { layer[".weight"]?.elementType == .uint8 }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        for part in [".pre_quant_scale", ".svdquant_lora_a", ".svdquant_lora_b"] {
            if let tensor = layer[part] {
                throw RequestError(
                    "\(tensor.error("NVFP4 with scaled inputs or a low-rank part is not supported")); convert the original "
                        + "model, or one quantized by plain NVFP4", status: .unavailable)
            }
        }
        return try PackedNVFP4Scheme.nvfp4(layer, codes: ".weight", global: ".weight_scale_2", as: "multiplier")
    }
}

/// MXFP4 of gpt-oss: the experts of a layer in one tensor.
enum GPTOSSScheme: QuantizedScheme {
    static let title = "gpt-oss MXFP4"
    static let mark = "_blocks"
    static let parts = ["_blocks", "_scales"]
    static let weightName = ""

    static func fits(_ layer: QuantizedLayer) -> Bool {
        layer["_blocks"]?.elementType == .uint8 && layer["_scales"]?.elementType == .uint8
    }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        let (codes, scales) = (try layer.tensor("_blocks", [.uint8]), try layer.tensor("_scales", [.uint8]))
        let sizes = codes.shape.dimensions
        guard sizes.count >= 3, sizes.last == 16, Array(sizes.dropLast()) == scales.shape.dimensions,
            let blocks = scales.shape.dimensions.last
        else { throw codes.error("blocks of \(codes.shape) and scales of \(scales.shape) are not of blocks of 32") }
        return .encoded(
            codec: "mxfp4", shape: Shape(sizes.dropLast(2) + [blocks * 32])
        ) { [codes.bytes, scales.bytes] }
    }
}
