import AccelByteIO
import AccelTensors

/// Numbers of eight bits with `weight_scale_inv`, which multiplies in spite of its name (DeepSeek, Qwen3-FP8).
enum BlockFloat8Scheme: QuantizedScheme {
    static let title = "block FP8"
    static let mark = ".weight_scale_inv"
    static let parts = [".weight", ".weight_scale_inv"]
    static let idleParts = [IdleParts.activations(".input_scale", ".activation_scale"), .caches]

    static func fits(_ layer: QuantizedLayer) -> Bool { Float8Scheme.isFloat8(layer) }
    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        // What transformers takes where config.json has no `weight_block_size`.
        try Float8Scheme.weight(of: layer, scale: mark, usual: .block(Float8Scheme.block, Float8Scheme.block))
    }
}

/// Numbers of eight bits with `weight_scale` (compressed-tensors, fbgemm, ModelOpt, MXFP8).
enum Float8Scheme: QuantizedScheme {
    static let title = "FP8"
    static let mark = ".weight_scale"
    static let parts = [".weight", ".weight_scale"]
    static let idleParts = [
        IdleParts.activations(".input_scale", ".input_scale_ub", ".output_scale"), .caches,
    ]
    /// Rows and columns of a block of the codec `float8`.
    static let block = 128

    static func isFloat8(_ layer: QuantizedLayer) -> Bool {
        layer[".weight"].map { [.float8e4m3, .float8e5m2].contains($0.elementType) } ?? false
    }

    static func fits(_ layer: QuantizedLayer) -> Bool { isFloat8(layer) }
    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight { try weight(of: layer, scale: mark) }

    /// Returns a weight with the codes of a layer and the scales of one of its tensors.
    /// - Parameter usual: how weights share scales where the configuration does not state it.
    static func weight(
        of layer: QuantizedLayer, codes: String = ".weight", scale: String, usual: ScaleSharing? = nil
    ) throws -> QuantizedWeight {
        let codes = try layer.matrix(codes, [.float8e4m3, .float8e5m2])
        let (rows, columns) = codes.shape.matrix
        let type = codes.elementType == .float8e5m2 ? "e5m2" : "e4m3"
        let tensor = try layer.tensor(scale, StoredTensor.scaleTypes + [.uint8])
        let isPower = tensor.elementType == .uint8
        let tiles = try layer.tiles(
            of: tensor, rows, columns,
            LayerFacts(bits: 8, isFloat: true, format: ["float-quantized"] + (isPower ? ["mxfp8-quantized"] : [])),
            usual: usual)
        if isPower, tiles.height == 1, tiles.width == 32, columns % 32 == 0 {
            return .encoded(codec: "mxfp8:type=\(type)", shape: codes.shape) { [codes.bytes, tensor.bytes] }
        }
        let scales: @Sendable () throws -> [Float] = { try Self.scales(tensor) }
        guard let (sharing, arranged) = sharing(tiles) else { return decoded(codes, tiles, scales) }
        return .encoded(
            codec: "float8:type=\(type),scale=\(sharing)", shape: codes.shape
        ) { [codes.bytes, ByteView(arranged(try scales()))] }
    }

    /// Returns finite scales, which may be stored as exponents of two.
    private static func scales(_ tensor: StoredTensor) throws -> [Float] {
        guard tensor.elementType == .uint8 else { return try tensor.finiteScales() }
        // Bytes have a bias of 127; 255 is NaN.
        let bytes = tensor.byteArray
        if let index = bytes.firstIndex(of: 255) {
            throw tensor.error("is nan, but scales have to be finite", index: index)
        }
        return bytes.map { Float(sign: .plus, exponent: Int($0) - 127, significand: 1) }
    }

    /// Returns how the codec `float8` shares scales, and its scales of those of rectangles; nil if it has no such blocks.
    private static func sharing(
        _ tiles: ScaleTiles
    ) -> (name: String, scales: @Sendable ([Float]) -> [Float])? {
        if tiles.down == 1, tiles.across == 1 { return ("tensor", { $0 }) }
        if tiles.across == 1, tiles.height == 1 { return ("channel", { $0 }) }
        // An edge of the matrix is an edge of blocks, too.
        let fits = (tiles.height % block == 0 || tiles.down == 1) && (tiles.width % block == 0 || tiles.across == 1)
        if fits { return ("block", { tiles.inBlocks(of: block, $0) }) }
        return tiles.across == 1 ? ("channel", { tiles.inRows($0) }) : nil
    }

    private static func decoded(
        _ codes: StoredTensor, _ tiles: ScaleTiles, _ scales: @escaping @Sendable () throws -> [Float]
    ) -> QuantizedWeight {
        .decoded(shape: codes.shape, reason: "no scheme has blocks of \(tiles.height) x \(tiles.width)") {
            let scales = try scales()
            var values = codes.floats()
            if let index = values.firstIndex(where: { !$0.isFinite }) {
                throw codes.error("is \(values[index]), but weights have to be finite", index: index)
            }
            for index in values.indices {
                let (row, column) = index.quotientAndRemainder(dividingBy: tiles.columns)
                values[index] *= scales[row / tiles.height * tiles.across + column / tiles.width]
            }
            return values
        }
    }
}
