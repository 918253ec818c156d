import AccelByteIO
import AccelTensors

/// `pack-quantized` of compressed-tensors: words along the rows, of codes plus half of their range.
enum PackedScheme: QuantizedScheme {
    static let title = "compressed-tensors pack-quantized"
    static let mark = ".weight_packed"
    static let parts = [
        ".weight_packed", ".weight_scale", ".weight_shape", ".weight_zero_point", ".weight_g_idx",
    ]
    static let idleParts = [
        IdleParts.activations(".input_scale", ".input_zero_point", ".output_scale", ".output_zero_point"), .caches,
    ]

    static func fits(_ layer: QuantizedLayer) -> Bool { layer[".weight_packed"]?.elementType == .int32 }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        let words = try layer.matrix(".weight_packed", [.int32])
        let sizes = try layer.tensor(".weight_shape", [.int64, .int32], [2])
        let (rows, columns) = (Int(sizes.integers()[0]), Int(sizes.integers()[1]))
        guard rows == words.shape.matrix.rows, (1...1 << 31).contains(columns),
            let bits = (1...8).first(where: { PackedWords.count(columns, bits: $0) == words.shape.matrix.columns })
        else { throw sizes.error("\(rows) x \(columns) weights do not fit words of \(words.shape)") }
        let scaleTensor = try layer.tensor(".weight_scale", StoredTensor.scaleTypes)
        let half = Float(1 << (bits - 1))
        let (down, across) =
            scaleTensor.shape.rank == 2 ? scaleTensor.shape.matrix : (scaleTensor.shape.count, 1)
        guard down > 0, across > 0 else { throw scaleTensor.error("expected scales, found \(scaleTensor.shape)") }
        let zeroWords = try layer[".weight_zero_point"].map { _ in
            try layer.tensor(".weight_zero_point", [.int32], [PackedWords.count(down, bits: bits), across])
        }
        let facts = LayerFacts(bits: bits, zeros: zeroWords == nil ? .none : .stored, format: ["pack-quantized"])
        let tiles = try layer.tiles(of: scaleTensor, rows, columns, facts)
        let symmetric = try layer.symmetricStatement(facts, scales: scaleTensor.shape, rows, columns)
        let zeros = zeroWords.map { words in
            GroupedCodes.Zeros.integers {
                let stored = PackedWords.downColumns(words, bits: bits, count: down).transposed(rows: across)
                    .map { Float($0) }
                if let symmetric, stored.contains(where: { $0 != half }) { throw symmetric }
                return tiles.inRows(stored)
            }
        }
        let codes = GroupedCodes(
            rows: rows, columns: columns, bits: bits,
            codes: { PackedWords.alongRows(words, bits: bits, count: columns) },
            group: tiles.width, groups: tiles.across, scales: { tiles.inRows(try scaleTensor.finiteScales()) },
            scaleType: scaleTensor.elementType, zeros: zeros ?? .middle)
        return try ordered(codes, layer, tiles)
    }

    /// Returns the weight with the groups of `weight_g_idx`, if there is one.
    private static func ordered(
        _ codes: GroupedCodes, _ layer: QuantizedLayer, _ tiles: ScaleTiles
    ) throws -> QuantizedWeight {
        guard let indices = layer[".weight_g_idx"] else { return codes.weight() }
        let order = indices.integers().map { Int($0) }
        // All are -1 where columns are in order.
        if order.allSatisfy({ $0 == -1 }) { return codes.weight() }
        guard order.count == tiles.columns, order.allSatisfy({ (0..<tiles.across).contains($0) }) else {
            throw indices.error("expected \(tiles.columns) groups from 0 to \(tiles.across - 1)")
        }
        if order.indices.allSatisfy({ order[$0] == $0 / tiles.width }) { return codes.weight() }
        return codes.permuted(groupOfColumn: order)
    }
}

/// `int-quantized` of compressed-tensors: plain codes of eight bits.
enum IntegerScheme: QuantizedScheme {
    static let title = "compressed-tensors int-quantized"
    static let mark = ".weight_scale"
    static let parts = [".weight", ".weight_scale", ".weight_zero_point"]
    static let idleParts = [
        IdleParts.activations(".input_scale", ".input_zero_point", ".output_scale", ".output_zero_point"), .caches,
    ]

    static func fits(_ layer: QuantizedLayer) -> Bool { layer[".weight"]?.elementType == .int8 }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        try Int8Rows(
            layer, codes: ".weight", scales: mark, zeros: ".weight_zero_point", hasLeast: true,
            format: ["int-quantized"]
        ).weight()
    }
}
