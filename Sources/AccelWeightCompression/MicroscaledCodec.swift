package import AccelByteIO
package import AccelTensors
import CAccelKernels

/// A codec of small floating-point numbers (the MX formats of the Open Compute Project, and NVFP4): short blocks of a row
/// share a scale of one byte. The largest magnitude that the scale leaves is stored for numbers beyond it.
///
/// Sections: `codes` (each row starts at a byte boundary, lower nibble first), `scales` (one byte per block, row-major), and
/// for codecs with a scale of the tensor `global` (one float32).
package protocol MicroscaledCodec: BlockScaledCodec {
    /// The numbers that codes stand for.
    var elements: SmallFloat { get }
    /// Weights of a row that share a scale.
    static var block: Int { get }
    /// The type of the blocks' scales.
    static var scaleForm: MicroscaleForm { get }
    /// The tensor has a scale beside those of its blocks: a factor or, if it divides, a divisor of them.
    var global: GlobalScale? { get }
    /// The search for the scale of a block.
    var fit: MicroscaleFit { get }
}

/// The type of scales of one byte.
package enum MicroscaleForm: Sendable {
    /// A power of two (E8M0): the exponent with a bias of 127. 255 is NaN.
    case power
    /// A number of float8 E4M3. Negative ones and NaN do not occur.
    case e4m3

    /// The values by code; NaN for codes that no scale has.
    package var values: [Float] {
        switch self {
        case .power:
            (0..<256).map { $0 == 255 ? .nan : Float(sign: .plus, exponent: $0 - 127, significand: 1) }
        case .e4m3: Float8.e4m3.values.enumerated().map { $0.offset < 127 ? $0.element : .nan }
        }
    }
}

/// How the scale of a tensor changes the scales of its blocks.
package enum GlobalScale: String, Sendable {
    case multiplier, divisor

    package func apply(_ global: Float, to scale: Float) -> Float {
        self == .multiplier ? scale * global : scale / global
    }
}

/// The search for the scale of a block.
package enum MicroscaleFit: String, CaseIterable, Sendable {
    /// The scale of least squared error, which may clip the largest values.
    case mse
    /// The nearest scale that reaches the largest value.
    case absmax
    /// The exponent of the largest value less that of the largest number, which may clip, as the MX specification has it.
    case floor
    /// As `absmax`, with the bytes of `mx.quantize` of MLX on the CPU: ties of four bits go to the smaller magnitude, zeros
    /// have no sign, and a scale of E4M3 may be 0.
    case mlx

    /// Reads the options of a codec.
    /// - Throws: `RequestError` for `mlx` together with a method.
    init(_ values: CodecOptionValues) throws {
        self = MicroscaleFit(rawValue: values["fit"]) ?? .mse
        if self == .mlx, values.method != .nearest {
            throw RequestError(
                "\(values.codec): fit=mlx has the codes of mx.quantize, which takes no calibration data; remove fit or method"
            )
        }
    }

    static func option(_ fits: [MicroscaleFit]) -> CodecOption {
        let floor = "; floor: the largest's exponent, may clip, as in the MX specification"
        return CodecOption(
            "fit", allowed: fits.map(\.rawValue), default: MicroscaleFit.mse.rawValue,
            help: "search for scales: mse: least squared error, may clip the largest; absmax: reaches every weight; "
                + "mlx: the bytes of MLX's mx.quantize"
                + (fits.contains(.floor) ? floor : ""))
    }
}

/// Floating-point numbers of four or eight bits.
package struct SmallFloat: Sendable {
    /// The values by code; the sign is the highest bit of a code.
    package let values: [Float]
    /// Bits of a code.
    let bits: Int
    /// The type of eight bits; nil for four.
    private let float8: Float8?
    let isE5M2: Bool
    /// The largest finite value, and its exponent.
    let (largest, topExponent): (Float, Int)

    /// Two exponent bits and one mantissa bit.
    package static let e2m1 = SmallFloat(
        values: [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], bits: 4, float8: nil)
    package static let e4m3 = SmallFloat(values: Float8.e4m3.values, bits: 8, float8: .e4m3)
    package static let e5m2 = SmallFloat(values: Float8.e5m2.values, bits: 8, float8: .e5m2, isE5M2: true)

    private init(values: [Float], bits: Int, float8: Float8?, isE5M2: Bool = false) {
        (self.values, self.bits, self.float8, self.isE5M2) = (values, bits, float8, isE5M2)
        largest = values.filter(\.isFinite).max() ?? 0
        topExponent = Int(largest.exponent)
    }

    /// Returns the code of the nearest value, with ties to the even code; the largest finite value for numbers beyond it.
    private func nearest(_ x: Float) -> UInt8 {
        if let float8 { return float8.code(x) }
        let magnitude = abs(x)
        let code: UInt8 =
            if magnitude < 1.75 {
                magnitude <= 0.25 ? 0 : magnitude < 0.75 ? 1 : magnitude <= 1.25 ? 2 : 3
            } else { magnitude <= 2.5 ? 4 : magnitude < 3.5 ? 5 : magnitude <= 5 ? 6 : 7 }
        return x.sign == .minus ? code | 8 : code
    }

    /// Returns the code of the nearest value, with ties to the smaller magnitude and without a sign of zero.
    private func nearestOfMLX(_ x: Float) -> UInt8 {
        if let float8 { return float8.code(x) }
        let magnitude = abs(x)
        let code: UInt8 =
            if magnitude <= 1.75 {
                magnitude <= 0.25 ? 0 : magnitude <= 0.75 ? 1 : magnitude <= 1.25 ? 2 : 3
            } else { magnitude <= 2.5 ? 4 : magnitude <= 3.5 ? 5 : magnitude <= 5 ? 6 : 7 }
        return code > 0 && x.sign == .minus ? code | 8 : code
    }

    /// Returns the code of the value that is nearest to `x / scale`, among those whose product with the scale is finite.
    func code(_ x: Float, scale: Float, asMLX: Bool = false) -> UInt8 {
        if scale == 0 { return 0 }
        var code = asMLX ? nearestOfMLX(x / scale) : nearest(x / scale)
        // A scale that is not finite itself leaves the code of 0.
        while values[Int(code)] != 0, !(values[Int(code)] * scale).isFinite { code -= 1 }
        return code
    }
}

extension MicroscaledCodec {
    /// Weights of a row that share a scale, by the row's length.
    var blocks: Blocks { Blocks(size: Self.block) }
    func rowBytes(_ shape: Shape) -> Int { BitPacking.byteCount(shape.columns, bits: elements.bits) }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        quantizationUnsupportedReason(elementType, shape)
    }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        [
            SectionLayout("codes", byteCount: shape.rows * rowBytes(shape)),
            SectionLayout("scales", byteCount: shape.rows * blocks.perRow(shape)),
        ] + (global == nil ? [] : [SectionLayout("global", byteCount: 4)])
    }

    /// One unit if the tensor has a scale of its own, which depends on all rows.
    public func units(shape: Shape) -> [Range<Int>] {
        global == nil ? shape.rowBlocks(of: 1 << 18) : [0..<shape.rows]
    }

    public func corruption(in sections: [ByteView], shape: Shape) -> String? {
        let scales = Self.scaleForm.values
        if sections[1].withBytes({ $0.contains { scales[Int($0)].isNaN } }) {
            return "a scale that is no finite number"
        }
        if global != nil, !(globalScale(in: sections[2]) > 0 && globalScale(in: sections[2]).isFinite) {
            return "a scale of the tensor that is no positive number"
        }
        guard elements.bits == 8 else { return nil }
        return sections[0].withBytes { codes in
            codes.contains { !elements.values[Int($0)].isFinite } ? "a code that is no finite number" : nil
        }
    }

    private func globalScale(in section: ByteView) -> Float {
        section.withBytes { $0.loadUnaligned(fromByteOffset: 0, as: Float.self) }
    }

    /// The scales by their codes, with that of the tensor.
    private func scaleTable(_ global: Float) -> [Float] {
        Self.scaleForm.values.map { self.global?.apply(global, to: $0) ?? $0 }
    }

    // MARK: - Encoding

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        try encode(unit, of: source, given: statistics, threads: 1, into: sections)
    }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?, threads: Int,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let (shape, perRow) = (source.shape, blocks.perRow(source.shape))
        let tensorScale = try findGlobalScale(of: source, unit)
        if global != nil { sections[2].storeBytes(of: tensorScale, as: Float.self) }
        let scales = scaleTable(tensorScale)
        if method == .gptq, let statistics {
            return try encoding(
                unit, of: source, among: scales, feedingBackBy: statistics, threads: threads, into: sections)
        }
        let importance = method == .weighted ? statistics?.importance : nil
        var distortion = Distortion()
        try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(shape.columns, 1)) { codes in
            try withUnsafeTemporaryAllocation(of: Float.self, capacity: max(shape.columns, 1)) { stored in
                let codes = UnsafeMutableBufferPointer(rebasing: codes[..<shape.columns])
                let stored = UnsafeMutableBufferPointer(rebasing: stored[..<shape.columns])
                try source.forEachFiniteRow(unit) { row, values in
                    for block in 0..<perRow {
                        let columns = blocks.columns(of: block, shape)
                        let code = importance.withElements(columns) {
                            scaleCode(
                                for: UnsafeBufferPointer(rebasing: values[columns]), weights: $0,
                                of: source.elementType, among: scales)
                        }
                        sections[1][row * perRow + block] = code
                        let scale = scales[Int(code)]
                        for column in columns {
                            codes[column] = elements.code(values[column], scale: scale, asMLX: fit == .mlx)
                            stored[column] = elements.values[Int(codes[column])] * scale
                        }
                    }
                    distortion.add(values, storedAs: stored)
                    guard let target = sections[0].baseAddress else { return }
                    BitPacking.pack(
                        UnsafeBufferPointer(codes), bits: elements.bits,
                        into: (target + row * rowBytes(shape)).assumingMemoryBound(to: UInt8.self))
                }
            }
        }
        return distortion
    }

    /// Returns the scale of the tensor with which the largest scale of a block is the largest of its type; 1 for none.
    private func findGlobalScale(of source: StoredTensor, _ unit: Range<Int>) throws -> Float {
        guard let global else { return 1 }
        var largest: Float = 0
        try source.forEachFiniteRow(unit) { _, values in
            let (low, high) = UnsafeBufferPointer(values).extremes
            largest = max(largest, -low, high)
        }
        guard largest > 0 else { return 1 }
        let reach = elements.largest * (Self.scaleForm.values.filter(\.isFinite).max() ?? 1)
        return global == .multiplier
            ? max(largest / reach, .leastNormalMagnitude) : min(max(reach / largest, .leastNormalMagnitude), 0x1p126)
    }

    /// Returns the code of a block's scale.
    /// - Parameter weights: the weights of the squared errors, one per value; nil for 1.
    func scaleCode(
        for values: UnsafeBufferPointer<Float>, weights: UnsafePointer<Float>?, of type: ElementType,
        among scales: [Float]
    ) -> UInt8 {
        let (low, high) = values.extremes
        let largest = max(-low, high)
        guard largest > 0 else { return Self.scaleForm == .power ? 127 : 0 }
        if fit == .mlx { return scaleCodeOfMLX(for: largest, of: type, among: scales) }
        let candidates = candidates(for: largest, among: scales)
        guard fit == .mse else { return candidates[0] }
        var best = (code: candidates[0], error: Double.infinity)
        for code in candidates {
            let scale = scales[Int(code)]
            var error = 0.0
            for index in values.indices {
                let code = Int(elements.code(values[index], scale: scale))
                let difference = Double(values[index]) - Double(elements.values[code] * scale)
                error += difference * difference * Double(weights?[index] ?? 1)
            }
            if error < best.error { best = (code, error) }
        }
        return best.code
    }

    /// Returns the code of the scale that `mx.quantize` chooses: the quotient is of the type of the weights.
    private func scaleCodeOfMLX(for largest: Float, of type: ElementType, among scales: [Float]) -> UInt8 {
        let quotient = type == .float16 ? Half.rounded(largest / elements.largest) : largest / elements.largest
        guard Self.scaleForm == .power else {
            // The scale of the code for 1 is that of the tensor.
            return Float8.e4m3.code(largest / elements.largest / scales[Int(Float8.e4m3.code(1))])
        }
        guard quotient > 0 else { return 127 }
        return UInt8(min(max(Int(quotient.exponent) + (quotient.significand > 1 ? 1 : 0) + 127, 0), 254))
    }

    /// Returns the codes of scales to try for a block whose largest magnitude is given: first that of `fit`.
    private func candidates(for largest: Float, among scales: [Float]) -> [UInt8] {
        switch Self.scaleForm {
        case .power:
            func code(_ exponent: Int) -> UInt8 { UInt8(min(max(exponent + 127, 0), 254)) }
            let floor = Int(largest.exponent) - elements.topExponent
            if fit == .floor { return [code(floor)] }
            let reaching =
                Float(sign: .plus, exponent: min(max(floor, -127), 127), significand: elements.largest) < largest
                ? floor + 1 : floor
            return [code(reaching), code(reaching - 1), code(reaching + 1)]
        case .e4m3:
            // The positive codes are in the order of their values, from the smallest above 0 on.
            func nearest(to scale: Float) -> Int {
                let above = (1..<126).first { scales[$0] >= scale } ?? 126
                return above > 1 && scale - scales[above - 1] < scales[above] - scale ? above - 1 : above
            }
            let reaching = nearest(to: largest / elements.largest)
            // A scale by which the largest weight is 4, not 6, gives finer steps above 2.
            let second = elements.bits == 4 ? [nearest(to: largest / 4)] : []
            return ([reaching, max(reaching - 1, 1), min(reaching + 1, 126)] + second).map { UInt8($0) }
        }
    }

    // MARK: - Decoding

    /// The scales of a row.
    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int {
        blocks.perRow(shape) * MemoryLayout<Float>.stride
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let (columns, perRow) = (weight.shape.columns, blocks.perRow(weight.shape))
        let scales = scratch.assumingMemoryBound(to: Float.self)
        weight.forEachPackedRow(rows, rowBytes: rowBytes(weight.shape), into: target) { row, packed, target in
            loadScales(ofRows: row..<row + 1, of: weight, into: scales)
            if elements.bits == 4 {
                ck_decode_palette4(packed, 0, elements.values, target, columns)
                ck_multiply_blocks(target, columns, blocks.size(weight.shape), scales)
                return
            }
            for block in 0..<perRow {
                let first = block * Self.block
                ck_decode_float8(
                    packed + first, elements.isE5M2 ? 1 : 0, scales[block], min(Self.block, columns - first),
                    target + first)
            }
        }
    }

    package func loadScales(
        ofRows rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutablePointer<Float>
    ) {
        let perRow = blocks.perRow(weight.shape)
        let tensorScale = global == nil ? 1 : globalScale(in: weight.sections[2])
        weight.sections[1].withBytes { codes in
            guard let start = codes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            // One of the two is 1, which leaves the scales as they are.
            ck_widen_microscales(
                start + rows.lowerBound * perRow, Self.scaleForm == .e4m3 ? 1 : 0, rows.count * perRow,
                global == .multiplier ? tensorScale : 1, global == .divisor ? tensorScale : 1, target)
        }
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let (shape, perRow) = (weight.shape, blocks.perRow(weight.shape))
        let scales = scaleTable(global == nil ? 1 : globalScale(in: weight.sections[2]))
        let (ascending, ranks, reach) = (elements.ascending, elements.ranks, reach)
        return weight.sections[0].withBytes { packed in
            withUnsafeTemporaryAllocation(of: Float.self, capacity: max(shape.columns, 1)) { values in
                for row in rows {
                    source.readFloats(source.elements(ofRows: row..<row + 1), into: values)
                    for column in 0..<shape.columns {
                        let index = row * perRow + column / Self.block
                        let scale = scales[Int(weight.sections[1].withBytes { $0[index] })]
                        if scale == 0 { continue }
                        let code =
                            elements.bits == 4
                            ? Nibbles.unsigned(packed, from: row * rowBytes(shape), at: column)
                            : packed[row * shape.columns + column]
                        func distance(_ code: UInt8) -> Double {
                            abs(Double(values[column] / scale) - Double(elements.values[Int(code)]))
                        }
                        let nearest = elements.code(values[column], scale: scale)
                        let rank = ranks[Int(code)]
                        if abs(rank - ranks[Int(nearest)]) <= reach { continue }
                        // A weight in the middle of two values has two nearest ones. No value is within reach of a NaN code.
                        let reached = ascending.indices.clamped(to: rank - reach..<rank + reach + 1)
                        if !reached.contains(where: { distance(ascending[$0]) <= distance(nearest) }) {
                            return (row * shape.columns + column, Palette.distantCode(reach))
                        }
                    }
                }
                return nil
            }
        }
    }

    // MARK: - Layouts

    /// A table of the elements' values, with a scale for each block.
    public func encoding(of weight: CompressedTensor) -> WeightEncoding? {
        let shape = weight.shape
        let count = shape.rows * blocks.perRow(shape)
        let scales = [Float](unsafeUninitializedCapacity: max(count, 1)) { target, written in
            if let start = target.baseAddress { loadScales(ofRows: 0..<shape.rows, of: weight, into: start) }
            written = count
        }
        return .palette(
            PaletteEncoding(
                codes: PackedCodes(
                    bits: elements.bits, bytes: weight.sections[0], rows: shape.rows, columns: shape.columns),
                tables: [elements.values.map { $0.isFinite ? $0 : 0 }], rowsPerTable: max(shape.rows, 1),
                scales: BlockScales(values: scales, block: blocks.size(shape))))
    }

    package func blockScaledCodes(_ shape: Shape) -> BlockScaledCodes {
        BlockScaledCodes(
            bits: elements.bits,
            values: elements.bits == 4 ? .table(elements.values) : .float8(isE5M2: elements.isE5M2), shifts: .none,
            scaleType: .float32, rowBytes: rowBytes(shape), block: blocks.size(shape), blocks: blocks.perRow(shape),
            hasScalesToLoad: true)
    }
}
