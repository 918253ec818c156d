public import AccelByteIO
public import AccelTensors
import CAccelKernels

/// Affine quantisation as in MLX: `scale * code + bias` with unsigned codes of `bits` bits. Each block of a row has a
/// floating-point scale and bias; other formats call this a scale with a floating-point zero point.
///
/// Sections: `codes` (unsigned; each row starts at a byte boundary, lowest bits first), `scales` and `biases` (one per
/// block, row-major).
public struct AffineCodec: SingleSchemeCodec {
    public static let name = "affine"
    public static let numericsVersion = 3
    public static let options = [
        CodecOption(
            "bits", allowed: ["2", "3", "4", "5", "6", "8"], default: "4", isAlwaysNamed: true, help: "bits of a code"),
        Blocks.option(default: "32"),
        CodecOption(
            "scales", allowed: ["float16", "bfloat16", "float32", Self.ofWeight], default: "float16",
            help: "type of the scales and biases; weight: the weight's own, float32 if that is not a float of 16 bits"),
        CodecOption(
            "fit", allowed: AffineFit.allCases.map(\.rawValue), default: AffineFit.mse.rawValue,
            help:
                "search for scale and bias: mse: least squared error, may clip the outermost; hqq: half-quadratic "
                + "iterations of the bias, robust to large errors; minmax: reaches every weight; mlx: as MLX's "
                + "mx.quantize, the same bytes with scales=weight"),
        CalibrationMethod.option,
        CodecOption(
            "type", allowed: [Self.unknownType, "float16", "bfloat16", "float32"], default: Self.unknownType,
            isFilledIn: true, help: "type that scales=weight stands for"),
    ]
    /// The value of `scales` for the type of the weight.
    private static let ofWeight = "weight"
    /// The value of `type` before the weight is known, or if `scales` names the type.
    private static let unknownType = "none"

    public let values: CodecOptionValues
    let bits: Int
    let blocks: Blocks
    let search: AffineGridSearch

    /// Creates the codec.
    /// - Throws: `RequestError` for `fit=mlx` together with a method: `mx.quantize` uses no calibration data.
    public init(_ values: CodecOptionValues) throws {
        self.values = values
        if values["fit"] == AffineFit.mlx.rawValue, values.method != .nearest {
            throw RequestError(
                "affine: fit=mlx has the codes of mx.quantize, which takes no calibration data; remove fit or method")
        }
        bits = values.integer("bits") ?? 4
        blocks = Blocks(size: values.integer("block"))
        search = AffineGridSearch(
            top: (1 << bits) - 1,
            type: ScaleType(rawValue: values["scales"]) ?? ScaleType(rawValue: values["type"]) ?? .float16,
            fit: AffineFit(rawValue: values["fit"]) ?? .mse)
    }

    /// The largest distance in codes between a stored code and the nearest one: with few bits a quarter of all codes.
    var reach: Int { method == .gptq ? min(LinearGridSearch.feedbackReach, (search.top + 1) / 4) : 0 }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        quantizationUnsupportedReason(elementType, shape)
    }

    public func resolved(for source: StoredTensor) throws -> any WeightCodec {
        guard values["scales"] == Self.ofWeight else { return self }
        return try AffineCodec(values.replacing("type", by: ScaleType(of: source.elementType).rawValue))
    }

    /// Whether the type of the scales is known.
    private var isResolved: Bool { values["scales"] != Self.ofWeight || values["type"] != Self.unknownType }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        let type = isResolved ? search.type : ScaleType(of: elementType)
        let perSection = shape.rows * blocks.perRow(shape) * type.byteCount
        return [
            SectionLayout("codes", byteCount: shape.rows * bytesPerRow(shape)),
            SectionLayout("scales", byteCount: perSection), SectionLayout("biases", byteCount: perSection),
        ]
    }

    public func corruption(in sections: [ByteView], shape: Shape) -> String? {
        isResolved ? nil : "scales=weight does not say the type of the stored scales"
    }

    func bytesPerRow(_ shape: Shape) -> Int { BitPacking.byteCount(shape.columns, bits: bits) }

    public func units(shape: Shape) -> [Range<Int>] { shape.rowBlocks(of: 1 << 18) }

    /// A bias is a zero point that is not an integer: `scale * (code - offset)`. A block with scale 0 consists of
    /// weights equal to the bias: it becomes a scale equal to the bias, with an offset of one below the code.
    public func encoding(of weight: CompressedTensor) -> WeightEncoding? {
        let shape = weight.shape
        let count = shape.rows * blocks.perRow(shape)
        let biases = weight.sections[2].withBytes { bytes in (0..<count).map { search.type.load(bytes, at: $0) } }
        var scales = weight.sections[1].withBytes { bytes in (0..<count).map { search.type.load(bytes, at: $0) } }
        let offsets = scales.indices.map { scales[$0] == 0 ? -1 : -biases[$0] / scales[$0] }
        for index in scales.indices where scales[index] == 0 { scales[index] = biases[index] }
        return .affine(
            AffineEncoding(
                codes: PackedCodes(bits: bits, bytes: weight.sections[0], rows: shape.rows, columns: shape.columns),
                isSigned: false, scales: scales, zeros: nil, offsets: offsets, scaleRows: shape.rows,
                block: blocks.size(shape), scaleType: search.type.elementType))
    }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        if method == .gptq, let statistics {
            return try encoding(unit, of: source, feedingBackBy: statistics, into: sections)
        }
        let shape = source.shape
        let perRow = blocks.perRow(shape)
        let importance = method == .weighted ? statistics?.importance : nil
        var distortion = Distortion()
        try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(shape.columns, 1)) { codes in
            try withUnsafeTemporaryAllocation(of: Float.self, capacity: max(shape.columns, 1)) { stored in
                let codes = UnsafeMutableBufferPointer(rebasing: codes[..<shape.columns])
                let stored = UnsafeMutableBufferPointer(rebasing: stored[..<shape.columns])
                try source.forEachFiniteRow(unit) { row, values in
                    for block in 0..<perRow {
                        let columns = blocks.columns(of: block, shape)
                        let part = UnsafeBufferPointer(rebasing: values[columns])
                        let found = importance.withElements(columns) { search.grid(for: part, weights: $0) }
                        guard let grid = found else {
                            throw overflow(of: source, at: row * shape.columns + columns.lowerBound)
                        }
                        store(grid, in: sections, at: row * perRow + block)
                        grid.encode(
                            UnsafeBufferPointer(rebasing: values[columns]),
                            codes: UnsafeMutableBufferPointer(rebasing: codes[columns]),
                            storedAs: UnsafeMutableBufferPointer(rebasing: stored[columns]))
                    }
                    distortion.add(values, storedAs: stored)
                    guard let target = sections[0].baseAddress else { return }
                    BitPacking.pack(
                        UnsafeBufferPointer(codes), bits: bits,
                        into: (target + row * bytesPerRow(shape)).assumingMemoryBound(to: UInt8.self))
                }
            }
        }
        return distortion
    }

    func store(_ grid: AffineGrid, in sections: [UnsafeMutableRawBufferPointer], at index: Int) {
        search.type.store(grid.scale, in: sections[1], at: index)
        search.type.store(grid.bias, in: sections[2], at: index)
    }

    func overflow(of source: StoredTensor, at index: Int) -> FormatError {
        source.error("needs a scale or bias beyond \(search.type.rawValue); store it with scales=float32", index: index)
    }

    private func grid(of weight: CompressedTensor, row: Int, block: Int) -> AffineGrid {
        let index = row * blocks.perRow(weight.shape) + block
        return AffineGrid(
            scale: weight.sections[1].withBytes { search.type.load($0, at: index) },
            bias: weight.sections[2].withBytes { search.type.load($0, at: index) }, top: search.top)
    }

    /// The codes of a row as bytes, its scales, and its biases.
    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int {
        2 * blocks.perRow(shape) * MemoryLayout<Float>.stride + shape.columns
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let (shape, columns, perRow) = (weight.shape, weight.shape.columns, blocks.perRow(weight.shape))
        let scales = scratch.assumingMemoryBound(to: Float.self)
        let biases = scales + perRow
        let codes = (scratch + 2 * perRow * MemoryLayout<Float>.stride).assumingMemoryBound(to: UInt8.self)
        weight.forEachPackedRow(rows, rowBytes: bytesPerRow(shape), into: target) { row, packed, target in
            let grids = row * perRow..<(row + 1) * perRow
            weight.sections[1].withBytes { search.type.load($0, grids, into: scales) }
            weight.sections[2].withBytes { search.type.load($0, grids, into: biases) }
            ck_unpack_codes(packed, Int32(bits), columns, codes)
            ck_decode_shifted(
                codes, columns, blocks.size(shape), scales, biases, search.type == .float16 ? 1 : 0, target)
        }
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let shape = weight.shape
        return withUnsafeTemporaryAllocation(of: Float.self, capacity: max(shape.columns, 1)) { values in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(shape.columns, 1)) { codes in
                let codes = UnsafeMutableBufferPointer(rebasing: codes[..<shape.columns])
                for row in rows {
                    source.readFloats(source.elements(ofRows: row..<row + 1), into: values)
                    weight.sections[0].withBytes { bytes in
                        guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                        BitPacking.unpack(start + row * bytesPerRow(shape), bits: bits, into: codes)
                    }
                    if search.fit == .mlx {
                        if let found = violationOfMLX(row, of: weight, values: values, codes: codes) { return found }
                        continue
                    }
                    for column in 0..<shape.columns {
                        let grid = grid(of: weight, row: row, block: column / blocks.size(shape))
                        if let reason = grid.violation(of: values[column], code: Int(codes[column]), reach: reach) {
                            return (row * shape.columns + column, reason)
                        }
                    }
                }
                return nil
            }
        }
    }
}

extension AffineCodec {
    /// Compares a row with the scales, biases and codes that its values have by MLX.
    private func violationOfMLX(
        _ row: Int, of weight: CompressedTensor, values: UnsafeMutableBufferPointer<Float>,
        codes: UnsafeMutableBufferPointer<UInt8>
    ) -> (index: Int, reason: String)? {
        let shape = weight.shape
        for block in 0..<blocks.perRow(shape) {
            let columns = blocks.columns(of: block, shape)
            let stored = grid(of: weight, row: row, block: block)
            let first = row * shape.columns + columns.lowerBound
            guard let expected = search.grid(for: UnsafeBufferPointer(rebasing: values[columns])) else {
                return (first, "needs a scale or bias beyond \(search.type.rawValue)")
            }
            guard stored.scale == expected.scale, stored.bias == expected.bias else {
                return (first, "starts a block whose scale or bias is not that of mx.quantize")
            }
            for column in columns where Float(codes[column]) != expected.code(values[column]) {
                return (row * shape.columns + column, "is not stored as the code of mx.quantize")
            }
        }
        return nil
    }
}

extension AffineCodec: BlockScaledCodec {
    package func blockScaledCodes(_ shape: Shape) -> BlockScaledCodes {
        BlockScaledCodes(
            bits: bits, values: .biased, shifts: .biases, scaleType: search.type,
            rowBytes: bytesPerRow(shape), block: blocks.size(shape), blocks: blocks.perRow(shape))
    }
}
