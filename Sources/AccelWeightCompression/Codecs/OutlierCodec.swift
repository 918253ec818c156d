public import AccelByteIO
public import AccelTensors

/// Outlier extraction: the weights of largest magnitude are stored separately, and the inner codec encodes the others,
/// with zeros in place of the outliers.
///
/// Sections: those of the inner codec; `starts` (32 bits each: the number of outliers in all rows before, for each row
/// and the end); `columns` (of each outlier, ascending within a row; 16 bits, or 32 bits if a row has more than
/// 65,536); `outliers` (their values).
public struct OutlierCodec: LayeredCodec {
    public static let name = "outliers"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "share", allowed: [], free: .share, default: "0.005",
            help: "the share of weights that are outliers; at least one weight"),
        CodecOption("values", allowed: ["float16", "float32"], default: "float16", help: "type of the outliers"),
    ]

    public let values: CodecOptionValues
    let inner: any WeightCodec
    private let share: Double
    private let type: ScaleType

    /// Creates the codec around the inner codec of `values`.
    /// - Throws: `RequestError` if there is no valid inner codec.
    public init(_ values: CodecOptionValues) throws {
        (inner, self.values) = try Self.inner(of: values)
        share = Double(values["share"]) ?? 0.005
        type = ScaleType(rawValue: values["values"]) ?? .float16
    }

    private func outlierCount(_ shape: Shape) -> Int { min(max(1, Int(Double(shape.count) * share)), shape.count) }
    private func columnBytes(_ shape: Shape) -> Int { shape.columns <= 1 << 16 ? 2 : 4 }
    func innerShape(_ shape: Shape) -> Shape { shape }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        if let reason = quantizationUnsupportedReason(elementType, shape) { return reason }
        if outlierCount(shape) > Int(UInt32.max) || shape.columns > Int(UInt32.max) {
            return "it has more outliers or columns than 32 bits can count"
        }
        return inner.unsupportedReason(elementType: .float32, shape: shape)
    }

    func ownSections(_ shape: Shape) -> [SectionLayout] {
        let count = outlierCount(shape)
        return [
            SectionLayout("starts", byteCount: (shape.rows + 1) * 4),
            SectionLayout("columns", byteCount: count * columnBytes(shape)),
            SectionLayout("outliers", byteCount: count * type.byteCount),
        ]
    }

    public func units(shape: Shape) -> [Range<Int>] { [0..<shape.rows] }

    public func resolved(for source: StoredTensor) throws -> any WeightCodec {
        let floats = try source.finiteFloats()
        let mask = largestMagnitudes(outlierCount(source.shape), of: floats)
        let rest = StoredTensor(name: source.name, floats: without(mask, floats), shape: source.shape)
        return try OutlierCodec(values.replacing(inner: inner.resolved(for: rest).values))
    }

    private func without(_ mask: [Bool], _ floats: [Float]) -> [Float] {
        floats.indices.map { mask[$0] ? 0 : floats[$0] }
    }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?, threads: Int,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let shape = source.shape
        let floats = try source.finiteFloats()
        let mask = largestMagnitudes(outlierCount(shape), of: floats)
        var stored = try encodeInner(
            without(mask, floats), of: source, given: statistics, threads: threads, into: sections)
        let own = Array(own(sections, shape))
        var count = 0
        for row in 0..<shape.rows {
            own[0].storeBytes(of: UInt32(truncatingIfNeeded: count), toByteOffset: row * 4, as: UInt32.self)
            for column in 0..<shape.columns where mask[row * shape.columns + column] {
                let index = row * shape.columns + column
                stored[index] = type.rounded(floats[index])
                guard stored[index].isFinite else {
                    throw source.error("\(floats[index]) is beyond float16; store it with values=float32", index: index)
                }
                if columnBytes(shape) == 2 {
                    own[1].storeBytes(of: UInt16(truncatingIfNeeded: column), toByteOffset: count * 2, as: UInt16.self)
                } else {
                    own[1].storeBytes(of: UInt32(truncatingIfNeeded: column), toByteOffset: count * 4, as: UInt32.self)
                }
                type.store(stored[index], in: own[2], at: count)
                count += 1
            }
        }
        own[0].storeBytes(of: UInt32(truncatingIfNeeded: count), toByteOffset: shape.rows * 4, as: UInt32.self)
        var (distortion, all) = (Distortion(), floats)
        all.withUnsafeMutableBufferPointer { all in
            stored.withUnsafeMutableBufferPointer { distortion.add(all, storedAs: $0) }
        }
        return distortion
    }

    /// Returns the outliers of a row, ordered by column.
    private func outliers(of row: Int, in sections: ArraySlice<ByteView>, _ shape: Shape) -> [(
        column: Int, value: Float
    )] {
        let (starts, columns, values) = (
            sections[sections.startIndex], sections[sections.startIndex + 1], sections[sections.startIndex + 2]
        )
        return (starts.start(row)..<starts.start(row + 1)).map { index in
            (columns.withBytes { column(index, in: $0, shape) }, values.withBytes { type.load($0, at: index) })
        }
    }

    private func column(_ index: Int, in columns: UnsafeRawBufferPointer, _ shape: Shape) -> Int {
        Self.column(index, in: columns, areWide: columnBytes(shape) == 4)
    }

    private static func column(_ index: Int, in columns: UnsafeRawBufferPointer, areWide: Bool) -> Int {
        areWide
            ? Int(columns.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self))
            : Int(columns.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self))
    }

    public func corruption(in sections: [ByteView], shape: Shape) -> String? {
        let own = Array(own(sections, shape))
        var end = own[0].start(0)
        guard end == 0 else { return "the outliers of row 0 start at \(end), expected 0" }
        for row in 0..<shape.rows {
            let start = end
            end = own[0].start(row + 1)
            guard start <= end, end <= outlierCount(shape) else {
                return "the outliers of row \(row) end at \(end), expected \(start) to \(outlierCount(shape))"
            }
            var next = 0
            for index in start..<end {
                let column = own[1].withBytes { self.column(index, in: $0, shape) }
                guard next <= column, column < shape.columns else {
                    return
                        "outlier \(index) of row \(row) is in column \(column), expected \(next) to \(shape.columns - 1)"
                }
                next = column + 1
            }
        }
        guard end == outlierCount(shape) else { return "\(end) outliers, expected \(outlierCount(shape))" }
        return inner.corruption(in: Array(sections.dropLast(3)), shape: shape)
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        inner.decode(rows, of: innerWeight(of: weight), into: target, scratch: scratch)
        let (shape, first) = (weight.shape, weight.sections.count - 3)
        let (starts, columns, values) = (
            weight.sections[first], weight.sections[first + 1], weight.sections[first + 2]
        )
        let (width, areWide) = (shape.columns, columnBytes(shape) == 4)
        columns.withBytes { columns in
            values.withBytes { values in
                var outlier = starts.start(rows.lowerBound)
                for index in 0..<rows.count {
                    let end = starts.start(rows.lowerBound + index + 1)
                    while outlier < end {
                        let column = Self.column(outlier, in: columns, areWide: areWide)
                        target[index * width + column] = type.load(values, at: outlier)
                        outlier += 1
                    }
                }
            }
        }
    }

    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int {
        inner.decodingScratchBytes(innerShape(shape), rows: rows)
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let shape = weight.shape
        let own = own(weight.sections, shape)
        let floats = source.floats()
        var mask = [Bool](repeating: false, count: floats.count)
        var least = Float.infinity
        for row in 0..<shape.rows {
            for outlier in outliers(of: row, in: own, shape) {
                let index = row * shape.columns + outlier.column
                mask[index] = true
                least = min(least, abs(floats[index]))
                if rows.contains(row), type.rounded(floats[index]) != outlier.value {
                    return (index, "is an outlier that is stored as \(outlier.value)")
                }
            }
        }
        if let larger = source.elements(ofRows: rows).first(where: { !mask[$0] && abs(floats[$0]) > least }) {
            return (larger, "is larger than an outlier, but none")
        }
        let rest = StoredTensor(name: source.name, floats: without(mask, floats), shape: shape)
        return inner.violation(rows, of: innerWeight(of: weight), source: rest)
    }
}
