import AccelByteIO
import AccelTensors

/// Signed codes of eight bits, and the weights that share a scale. Scales and zero points are read when they are used.
struct Int8Rows: Sendable {
    let tensor: StoredTensor
    /// Reads the scales of rectangles.
    let scales: @Sendable () throws -> [Float]
    /// The type of the scales.
    let scaleType: ElementType
    /// Reads a zero point for each scale; nil for 0.
    let zeros: (@Sendable () throws -> [Int8])?
    let tiles: ScaleTiles
    /// Whether -128 is a code.
    let hasLeast: Bool

    /// Checks the codes, scales and zero points of a layer.
    /// - Parameters:
    ///   - hasLeast: whether the tool rounds to -128, too, which is no code of a symmetric grid.
    ///   - format: the names of the format of files.
    /// - Throws: `FormatError` for scales or zero points of other shapes than the configuration states, or than one reading has.
    init(
        _ layer: QuantizedLayer, codes: String, scales: String, zeros: String? = nil, hasLeast: Bool,
        format: [String] = []
    ) throws {
        tensor = try layer.matrix(codes, [.int8])
        self.hasLeast = hasLeast
        let scaleTensor = try layer.tensor(scales, StoredTensor.scaleTypes)
        let zeroTensor = try zeros.flatMap { part in
            try layer[part].map { _ in try layer.tensor(part, [.int8], scaleTensor.shape) }
        }
        let (rows, columns) = tensor.shape.matrix
        let facts = LayerFacts(bits: 8, zeros: zeroTensor == nil ? .none : .stored, format: format)
        tiles = try layer.tiles(of: scaleTensor, rows, columns, facts)
        self.scales = { try scaleTensor.finiteScales() }
        scaleType = scaleTensor.elementType
        guard let zeroTensor else {
            self.zeros = nil
            return
        }
        let symmetric = try layer.symmetricStatement(facts, scales: scaleTensor.shape, rows, columns)
        self.zeros = {
            let values = zeroTensor.byteArray.map { Int8(bitPattern: $0) }
            if let symmetric, values.contains(where: { $0 != 0 }) { throw symmetric }
            return values
        }
    }

    /// Codes of rows without zero points and without -128.
    init(_ tensor: StoredTensor, scaleType: ElementType, scales: @escaping @Sendable () throws -> [Float]) {
        (self.tensor, self.scales, self.scaleType, zeros, hasLeast) = (tensor, scales, scaleType, nil, false)
        tiles = ScaleSharing.channel.tiles(tensor.shape.matrix.rows, tensor.shape.matrix.columns)
    }

    func weight() -> QuantizedWeight {
        guard tiles.across == 1 else { return grouped.weight() }
        let isWhole = tiles.down == 1 && tiles.rows > 1
        // Symmetric codes end at -127.
        let isSymmetric = zeros == nil && !hasLeast
        return .encoded(
            codec: "int8:axis=\(isWhole ? "tensor" : "channel")" + (isSymmetric ? "" : ",mode=asymmetric"),
            shape: tensor.shape
        ) {
            let (scales, zeros) = (try scales(), try zeros?())
            let stored = isWhole ? scales : tiles.inRows(scales)
            guard !isSymmetric else {
                if let index = tensor.bytes.withBytes({ $0.firstIndex(of: 128) }) {
                    throw tensor.error("is -128, which is no code of the tool that wrote it", index: index)
                }
                return [tensor.bytes, ByteView(stored)]
            }
            let rows = zeros.map { isWhole ? $0 : tiles.inRows($0) } ?? stored.map { _ in Int8(0) }
            return [tensor.bytes, ByteView(stored), ByteView(rows)]
        }
    }

    /// The same codes with a scale and a zero for each group of a row.
    private var grouped: GroupedCodes {
        let tiles = tiles
        return GroupedCodes(
            rows: tiles.rows, columns: tiles.columns, bits: 8,
            codes: { [tensor] in tensor.byteArray.map { $0 ^ 128 } }, group: tiles.width, groups: tiles.across,
            scales: { [scales] in tiles.inRows(try scales()) }, scaleType: scaleType,
            zeros: zeros.map { read in .integers { tiles.inRows(try read()).map { Float($0) + 128 } } } ?? .middle)
    }

    /// Returns the values with factors of the columns.
    func scaled(byColumn factors: StoredTensor, _ reason: String) -> QuantizedWeight {
        .decoded(shape: tensor.shape, reason: reason) {
            let (scales, factors) = (tiles.inRows(try scales()), try factors.finiteScales())
            let zeros = try zeros.map { tiles.inRows(try $0()) }
            return tensor.byteArray.enumerated().map { index, code in
                let (row, column) = index.quotientAndRemainder(dividingBy: tiles.columns)
                let place = row * tiles.across + column / tiles.width
                return Float(
                    Double(scales[place]) * Double(Int(Int8(bitPattern: code)) - Int(zeros?[place] ?? 0))
                        * Double(factors[column]))
            }
        }
    }
}
