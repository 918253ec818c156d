import AccelByteIO
import AccelTensors

/// `pack-quantized` of compressed-tensors: words along the rows, of codes plus half of their range.
enum PackedScheme: QuantizedScheme {
    static let title = "compressed-tensors pack-quantized"
    static let mark = ".weight_packed"
    static let parts = [
        ".weight_packed", ".weight_scale", ".weight_shape", ".weight_zero_point", ".weight_g_idx", ".input_scale",
        ".input_zero_point",
    ]

    static func fits(_ layer: QuantizedLayer) -> Bool { layer[".weight_packed"]?.elementType == .int32 }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        let words = try layer.matrix(".weight_packed", [.int32])
        let sizes = try layer.tensor(".weight_shape", [.int64, .int32], [2])
        let (rows, columns) = (Int(sizes.integers()[0]), Int(sizes.integers()[1]))
        guard rows == words.shape.matrix.rows, (1...1 << 31).contains(columns),
            let bits = (1...8).first(where: { PackedWords.count(columns, bits: $0) == words.shape.matrix.columns })
        else { throw sizes.error("\(rows) x \(columns) weights do not fit words of \(words.shape)") }
        if try [3, 5, 6, 7].contains(bits) && statedBits(layer).map({ $0 != bits }) ?? false {
            throw words.error("config.json has another number of bits than \(bits), which the words are of")
        }
        let scaleTensor = try layer.matrix(".weight_scale", StoredTensor.scaleTypes)
        let groups = scaleTensor.shape.matrix.columns
        guard scaleTensor.shape.matrix.rows == rows, columns % groups == 0 else {
            throw scaleTensor.error(
                "expected \(rows) rows of a divisor of \(columns) scales, found \(scaleTensor.shape)")
        }
        let half = Float(1 << (bits - 1))
        let zeros: [Float] =
            if layer[".weight_zero_point"] != nil {
                PackedWords.downColumns(
                    try layer.tensor(
                        ".weight_zero_point", [.int32], [PackedWords.count(rows, bits: bits), groups]), bits: bits,
                    count: rows
                ).transposed(rows: groups).map { Float($0) }
            } else { [Float](repeating: half, count: rows * groups) }
        let codes = GroupedCodes(
            rows: rows, columns: columns, bits: bits, codes: PackedWords.alongRows(words, bits: bits, count: columns),
            group: columns / groups, scales: try scaleTensor.finiteScales(), zeros: zeros,
            hasHalfScales: scaleTensor.elementType == .float16)
        guard let indices = layer[".weight_g_idx"] else { return codes.weight() }
        let order = indices.integers().map { Int($0) }
        // All are -1 where columns are in order.
        if order.allSatisfy({ $0 == -1 }) { return codes.weight() }
        guard order.count == columns, order.allSatisfy({ (0..<groups).contains($0) }) else {
            throw indices.error("expected \(columns) groups from 0 to \(groups - 1)")
        }
        return codes.permuted(groupOfColumn: order)
    }

    private static func statedBits(_ layer: QuantizedLayer) throws -> Int? {
        guard layer.configuration["config_groups"].exists else { return nil }
        let bits = try layer.configuration["config_groups"].members().map { $0.field["weights"]["num_bits"] }
        guard bits.count == 1, bits[0].exists else { return nil }
        return try bits[0].int()
    }
}

/// `int-quantized` of compressed-tensors: plain codes of eight bits.
enum IntegerScheme: QuantizedScheme {
    static let title = "compressed-tensors int-quantized"
    static let mark = ".weight_scale"
    static let parts = [".weight", ".weight_scale", ".weight_zero_point", ".input_scale", ".input_zero_point"]

    static func fits(_ layer: QuantizedLayer) -> Bool { layer[".weight"]?.elementType == .int8 }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        let scales = try layer.tensor(".weight_scale", StoredTensor.scaleTypes)
        let zeros = try layer[".weight_zero_point"].map { _ in try layer.tensor(".weight_zero_point", [.int8]) }
        return try Int8Rows(
            layer.matrix(".weight", [.int8]), scales: scales.finiteScales(),
            zeros: zeros.map { $0.byteArray.map { Int8(bitPattern: $0) } }
        ).weight()
    }
}
