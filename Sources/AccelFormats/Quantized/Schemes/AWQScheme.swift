import AccelByteIO
import AccelTensors

/// AWQ in the layout of its GEMM kernel: four bits, words along the output rows in a shuffled order.
enum AWQScheme: QuantizedScheme {
    static let title = "AWQ"
    static let mark = ".qweight"
    static let parts = [".qweight", ".qzeros", ".scales"]
    /// The nibble of a word that has each of eight rows.
    private static let nibbles: [UInt32] = [0, 4, 1, 5, 2, 6, 3, 7]

    static func fits(_ layer: QuantizedLayer) -> Bool { layer[".g_idx"] == nil }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        for key in ["version", "format"] where layer.configuration[key].exists {
            let field = layer.configuration[key]
            let name = try field.string().lowercased()
            guard ["gemm", "marlin", "exllama"].contains(name) else {
                throw RequestError(
                    "\(field.error("AWQ's layout \(quoted(name)) is not supported")); convert the original model, or one saved "
                        + "with the version gemm", status: .unavailable)
            }
        }
        let words = try layer.matrix(".qweight", [.int32])
        let (columns, rows) = (words.shape.matrix.rows, words.shape.matrix.columns * 8)
        let scaleTensor = try layer.matrix(".scales", StoredTensor.scaleTypes)
        let groups = scaleTensor.shape.matrix.rows
        guard scaleTensor.shape.matrix.columns == rows, columns % groups == 0 else {
            throw scaleTensor.error(
                "expected rows of \(rows) in a divisor of \(columns) groups, found \(scaleTensor.shape)")
        }
        let facts = LayerFacts(bits: 4, zeros: layer[".qzeros"] == nil ? .none : .stored)
        let symmetric = try layer.symmetricStatement(facts, scales: [rows, groups], rows, columns)
        return GroupedCodes(
            rows: rows, columns: columns, bits: 4, codes: { codes(words) },
            group: columns / groups, groups: groups,
            scales: { try scaleTensor.finiteScales().transposed(rows: groups) }, scaleType: scaleTensor.elementType,
            zeros: try zeros(layer, [groups, rows / 8], symmetric)
        ).weight()
    }

    private static func zeros(
        _ layer: QuantizedLayer, _ shape: Shape, _ symmetric: FormatError?
    ) throws -> GroupedCodes.Zeros {
        guard layer[".qzeros"] != nil else { return .middle }
        let tensor = try layer.tensor(".qzeros", [.int32], shape)
        return .integers {
            let zeros = codes(tensor)
            if let symmetric, zeros.contains(where: { $0 != 8 }) { throw symmetric }
            return zeros.map { Float($0) }
        }
    }

    /// Returns the codes of words [columns, rows / 8] as [rows, columns].
    private static func codes(_ tensor: StoredTensor) -> [UInt8] {
        let (columns, words) = tensor.shape.matrix
        // The columns whose words stay in the L1 cache.
        let step = 64
        return tensor.bytes.withBytes { bytes in
            [UInt8](unsafeUninitializedCapacity: columns * words * 8) { target, count in
                for first in stride(from: 0, to: columns, by: step) {
                    for index in 0..<words {
                        for column in first..<min(first + step, columns) {
                            let word = bytes.loadUnaligned(
                                fromByteOffset: 4 * (column * words + index), as: UInt32.self)
                            for (row, nibble) in nibbles.enumerated() {
                                target[(8 * index + row) * columns + column] = UInt8(word >> (4 * nibble) & 15)
                            }
                        }
                    }
                }
                count = columns * words * 8
            }
        }
    }
}
