import AccelByteIO
public import AccelTensors
import CAccelKernels

/// Groups with a scale and a zero point that is not an integer, `(code - zero) * scale`, over the flat tensor, as HQQ
/// stores them (Badri and Shaji, "Half-Quadratic Quantization of Large Machine Learning Models", 2023).
///
/// With `axis=1` a group is `group` neighbours, row-major, across the ends of rows. With `axis=0` the weights are rows of
/// count / group, and each column of these is a group. Sections: `codes` (unsigned; each row of the weight starts at a byte
/// boundary, lowest bits first), `scales` and `zeros` (one per group).
public struct HQQCodec: SingleSchemeCodec {
    public static let name = "hqq"
    public static let numericsVersion = 2
    public static let options = [
        CodecOption(
            "bits", allowed: ["1", "2", "3", "4", "5", "6", "8"], default: "4", isAlwaysNamed: true,
            help: "bits of a code"),
        CodecOption("group", allowed: [], free: .integer, default: "64", help: "weights that share a scale"),
        CodecOption(
            "axis", allowed: ["0", "1"], default: "1",
            help: "1: a group is neighbours, across the ends of rows; 0: weights at equal distances in the whole tensor"
        ),
        CodecOption(
            "scales", allowed: ["float16", "bfloat16", "float32"], default: "float16",
            help: "type of the scales and zero points"),
        CodecOption(
            "fit", allowed: ["hqq", "mse", "minmax"], default: "hqq",
            help: "search for scale and zero point: hqq: half-quadratic iterations, robust to large errors; mse: least "
                + "squared error, may clip the outermost; minmax: reaches every weight"),
    ]

    public let values: CodecOptionValues
    private let bits: Int
    private let group: Int
    private let hasNeighbours: Bool
    private let type: ScaleType
    private let search: AffineGridSearch

    public init(_ values: CodecOptionValues) {
        self.values = values
        bits = values.integer("bits") ?? 4
        group = values.integer("group") ?? 64
        hasNeighbours = values["axis"] == "1"
        type = ScaleType(rawValue: values["scales"]) ?? .float16
        search = AffineGridSearch(
            top: 1 << bits - 1, type: .float32, fit: AffineFit(rawValue: values["fit"]) ?? .hqq)
    }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        quantizationUnsupportedReason(elementType, shape)
    }

    private func groups(_ shape: Shape) -> Int {
        let (count, group) = (shape.rows * shape.columns, size(shape))
        return count / group + (count % group == 0 ? 0 : 1)
    }

    private func size(_ shape: Shape) -> Int { min(group, max(shape.rows * shape.columns, 1)) }
    private func rowBytes(_ shape: Shape) -> Int { BitPacking.byteCount(shape.columns, bits: bits) }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        let bytes = groups(shape) * type.byteCount
        return [
            SectionLayout("codes", byteCount: shape.rows * rowBytes(shape)),
            SectionLayout("scales", byteCount: bytes), SectionLayout("zeros", byteCount: bytes),
        ]
    }

    public func units(shape: Shape) -> [Range<Int>] { [0..<shape.rows] }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let (shape, count) = (source.shape, source.shape.count)
        var floats = try source.finiteFloats()
        var (codes, stored) = ([UInt8](repeating: 0, count: count), [Float](repeating: 0, count: count))
        let (groups, size) = (groups(shape), size(shape))
        for index in 0..<groups {
            let members =
                hasNeighbours
                ? stride(from: index * size, to: min((index + 1) * size, count), by: 1)
                : stride(from: index, to: count, by: groups)
            let values = members.map { floats[$0] }
            guard let grid = values.withUnsafeBufferPointer({ grid(for: $0) }) else {
                throw source.error(
                    "needs a scale or zero point beyond \(type.rawValue); store it with scales=float32",
                    index: members.first { _ in true })
            }
            type.store(grid.scale, in: sections[1], at: index)
            type.store(grid.zero, in: sections[2], at: index)
            for member in members {
                let code = grid.nearest(floats[member])
                codes[member] = UInt8(code)
                stored[member] = grid.value(code)
            }
        }
        codes.withUnsafeBufferPointer { codes in
            guard let target = sections[0].baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            for row in 0..<shape.rows {
                BitPacking.pack(
                    UnsafeBufferPointer(rebasing: codes[row * shape.columns..<(row + 1) * shape.columns]), bits: bits,
                    into: target + row * rowBytes(shape))
            }
        }
        var distortion = Distortion()
        floats.withUnsafeMutableBufferPointer { floats in
            stored.withUnsafeMutableBufferPointer { distortion.add(floats, storedAs: $0) }
        }
        return distortion
    }

    /// Returns the grid of a group, with numbers of the stored type; nil if they are beyond it.
    private func grid(for values: UnsafeBufferPointer<Float>) -> ZeroPointGrid? {
        let (low, high) = values.extremes
        if low == high, low != 0 {
            let grid = ZeroPointGrid(scale: type.rounded(low), zero: -1, top: search.top)
            return grid.scale.isFinite ? grid : nil
        }
        guard let found = search.grid(for: values) else {
            // With one bit the step may be beyond float32: two values half of it apart from 0.
            guard type == .float32, search.top == 1 else { return nil }
            return ZeroPointGrid(scale: .greatestFiniteMagnitude, zero: 0.5, top: 1)
        }
        // Beyond this limit the zero point of the type has less than the precision of a step.
        let limit: Float = type == .float16 ? 0x1p15 : 0x1p20
        var scale = type.rounded(max(found.scale, abs(found.bias) / limit))
        if scale <= 0 { scale = type.next(after: 0) }
        var grid = ZeroPointGrid(scale: scale, zero: type.rounded(-found.bias / scale), top: search.top)
        guard grid.scale.isFinite, grid.zero.isFinite else { return nil }
        while !grid.value(0).isFinite || !grid.value(search.top).isFinite {
            grid.scale = type.previous(before: grid.scale)
        }
        return grid
    }

    /// Returns the group of an element.
    private func group(of element: Int, _ shape: Shape) -> Int {
        hasNeighbours ? element / size(shape) : element % groups(shape)
    }

    /// The codes of a row, and the scales and zero points of its groups, which are at most as many.
    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int {
        2 * shape.columns * MemoryLayout<Float>.stride + shape.columns
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let (shape, columns) = (weight.shape, weight.shape.columns)
        let (groups, size) = (groups(shape), size(shape))
        let scales = scratch.assumingMemoryBound(to: Float.self)
        let zeros = scales + columns
        let codes = (scratch + 2 * columns * MemoryLayout<Float>.stride).assumingMemoryBound(to: UInt8.self)
        guard columns > 0 else { return }
        func load(_ groups: Range<Int>) {
            weight.sections[1].withBytes { type.load($0, groups, into: scales) }
            weight.sections[2].withBytes { type.load($0, groups, into: zeros) }
        }
        weight.forEachPackedRow(rows, rowBytes: rowBytes(shape), into: target) { row, packed, target in
            ck_unpack_codes(packed, Int32(bits), columns, codes)
            let first = row * columns
            if hasNeighbours {
                load(first / size..<(first + columns - 1) / size + 1)
                return ck_decode_zero_points(codes, columns, size, first % size, scales, zeros, target)
            }
            var column = 0
            while column < columns {
                let group = (first + column) % groups
                let count = min(columns - column, groups - group)
                load(group..<group + count)
                ck_decode_zero_points(codes + column, count, 0, 0, scales, zeros, target + column)
                column += count
            }
        }
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let (shape, columns) = (weight.shape, weight.shape.columns)
        var codes = [UInt8](repeating: 0, count: columns)
        var floats = [Float](repeating: 0, count: columns)
        for row in rows {
            floats.withUnsafeMutableBufferPointer {
                source.readFloats(source.elements(ofRows: row..<row + 1), into: $0)
            }
            weight.sections[0].withBytes { bytes in
                guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                codes.withUnsafeMutableBufferPointer {
                    BitPacking.unpack(start + row * rowBytes(shape), bits: bits, into: $0)
                }
            }
            for column in 0..<columns {
                let group = group(of: row * columns + column, shape)
                let grid = ZeroPointGrid(
                    scale: weight.sections[1].withBytes { type.load($0, at: group) },
                    zero: weight.sections[2].withBytes { type.load($0, at: group) }, top: search.top)
                let (value, code) = (Double(floats[column]), Int(codes[column]))
                let best = abs(value - Double(grid.value(grid.nearest(floats[column]))))
                // The comparison is written so that NaN is a violation too.
                if !(abs(value - Double(grid.value(code))) <= best) {
                    return (row * columns + column, "has a code that is not the nearest")
                }
            }
        }
        return nil
    }

    /// Groups that are blocks of rows have a form that exporters know.
    public func encoding(of weight: CompressedTensor) -> WeightEncoding? {
        let shape = weight.shape
        guard hasNeighbours, shape.columns % size(shape) == 0 else { return nil }
        let count = groups(shape)
        return .affine(
            AffineEncoding(
                codes: PackedCodes(bits: bits, bytes: weight.sections[0], rows: shape.rows, columns: shape.columns),
                isSigned: false,
                scales: weight.sections[1].withBytes { bytes in (0..<count).map { type.load(bytes, at: $0) } },
                zeros: nil,
                offsets: weight.sections[2].withBytes { bytes in (0..<count).map { type.load(bytes, at: $0) } },
                scaleRows: shape.rows, block: size(shape), scaleType: type.elementType))
    }
}

/// Evenly spaced values, `(code - zero) * scale`, in float32, with codes from 0 to `top`.
private struct ZeroPointGrid {
    var scale: Float
    var zero: Float
    let top: Int

    func value(_ code: Int) -> Float { (Float(code) - zero) * scale }

    /// Returns the code whose value is nearest; of two, the lower.
    func nearest(_ value: Float) -> Int {
        let place = Double(value) / Double(scale) + Double(zero)
        let middle = place.isNaN ? 0 : Int(min(max(place, 0), Double(top)).rounded())
        var best = (code: max(middle - 1, 0), error: Double.infinity)
        for code in max(middle - 1, 0)...min(middle + 1, top) {
            let error = abs(Double(value) - Double(self.value(code)))
            if error < best.error { best = (code, error) }
        }
        return best.code
    }
}
