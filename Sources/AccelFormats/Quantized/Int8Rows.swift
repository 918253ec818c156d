import AccelByteIO
import AccelTensors

/// Signed codes of eight bits, and the weights that share a scale.
struct Int8Rows: Sendable {
    let tensor: StoredTensor
    let scales: [Float]
    /// One for each scale; nil for 0.
    let zeros: [Int8]?
    let tiles: ScaleTiles

    /// Reads the codes, scales and zero points of a layer.
    /// - Parameter format: the names of the format of files.
    /// - Throws: `FormatError` for scales or zero points of other shapes than the configuration states, or than one reading has.
    init(_ layer: QuantizedLayer, codes: String, scales: String, zeros: String? = nil, format: [String] = []) throws {
        tensor = try layer.matrix(codes, [.int8])
        let scaleTensor = try layer.tensor(scales, StoredTensor.scaleTypes)
        let zeroTensor = try zeros.flatMap { part in
            try layer[part].map { _ in try layer.tensor(part, [.int8], scaleTensor.shape) }
        }
        let zeroValues = zeroTensor.map { $0.byteArray.map { Int8(bitPattern: $0) } }
        let hasZeros = zeroValues.map { $0.contains { $0 != 0 } }
        let (rows, columns) = tensor.shape.matrix
        tiles = try layer.tiles(
            of: scaleTensor, rows, columns,
            LayerFacts(bits: 8, zeros: hasZeros.map { $0 ? .asymmetric : .symmetric } ?? .none, format: format))
        self.scales = try scaleTensor.finiteScales()
        self.zeros = hasZeros == true ? zeroValues : nil
    }

    /// Codes without zero points.
    init(_ tensor: StoredTensor, scales: [Float], _ tiles: ScaleTiles) {
        (self.tensor, self.scales, self.tiles, zeros) = (tensor, scales, tiles, nil)
    }

    func weight() -> QuantizedWeight {
        guard tiles.across == 1 else { return grouped.weight() }
        let axis = tiles.down == 1 && tiles.rows > 1 ? "tensor" : "channel"
        let (scales, zeros) =
            axis == "tensor" ? (scales, zeros) : (tiles.inRows(scales), zeros.map { tiles.inRows($0) })
        // Symmetric codes end at -127.
        let isSymmetric = zeros == nil && !tensor.bytes.withBytes { $0.contains(128) }
        return .encoded(
            codec: "int8:axis=\(axis)" + (isSymmetric ? "" : ",mode=asymmetric"), shape: tensor.shape
        ) {
            [tensor.bytes, ByteView(scales)] + (isSymmetric ? [] : [ByteView(zeros ?? scales.map { _ in Int8(0) })])
        }
    }

    /// The same codes with a scale and a zero for each group of a row.
    private var grouped: GroupedCodes {
        let rowScales = tiles.inRows(scales)
        return GroupedCodes(
            rows: tiles.rows, columns: tiles.columns, bits: 8, codes: { tensor.byteArray.map { $0 ^ 128 } },
            group: tiles.width, scales: rowScales,
            zeros: zeros.map { tiles.inRows($0).map { Float($0) + 128 } } ?? rowScales.map { _ in 128 },
            hasHalfScales: false)
    }

    /// Returns the values with factors of the columns.
    func scaled(byColumn factors: [Float], _ reason: String) -> QuantizedWeight {
        let grouped = grouped
        return .decoded(shape: tensor.shape, reason: reason) {
            try grouped.codes().enumerated().map { index, code in
                let (row, column) = index.quotientAndRemainder(dividingBy: grouped.columns)
                let place = row * tiles.across + column / tiles.width
                return Float(
                    Double(grouped.scales[place]) * Double(Float(code) - grouped.zeros[place])
                        * Double(factors[column]))
            }
        }
    }
}
