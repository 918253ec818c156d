import AccelByteIO
public import AccelTensors
import CAccelKernels

/// Palettisation: each weight is an index into a small table of values, with one table per tensor or per group of
/// output channels. The tables come from exact k-means, so no other table of that size has a smaller squared error.
///
/// Sections: `codes` (each row starts at a byte boundary, lowest bits first); `palettes` (2^bits ascending entries per
/// group, where unused entries repeat the last one; with `entries=int8` a float32 factor precedes them); and for
/// `scale=channel` `scales` (float32, one per row; the entries then approximate rows divided by their scale).
public struct PaletteCodec: SingleSchemeCodec {
    public static let name = "palette"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "bits", allowed: ["1", "2", "3", "4", "6", "8"], default: "4", isAlwaysNamed: true, help: "bits of a code"),
        CodecOption(
            "group", allowed: ["tensor"], free: .integer, default: "tensor",
            help: "output channels that share a table; the last group may be smaller"),
        CodecOption(
            "scale", allowed: ["none", "channel"], default: "none",
            help: "channel: divide each output channel by its largest magnitude first"),
        CodecOption(
            "entries", allowed: ["float32", "float16", "int8"], default: "float32",
            help:
                "type of the tables; float16 halves them at a relative error of 2^-12 in each entry; int8: with a scale "
                + "for each table"),
        CalibrationMethod.option,
    ]

    public let values: CodecOptionValues
    package let bits: Int
    /// The number of rows that share a table; nil for all of them.
    package let group: Int?
    package let hasScales: Bool
    let entryType: ElementType

    /// Creates the codec.
    public init(_ values: CodecOptionValues) throws {
        self.values = values
        bits = values.integer("bits") ?? 4
        group = values.integer("group")
        hasScales = values["scale"] == "channel"
        switch values["entries"] {
        case "float16": entryType = .float16
        case "int8": entryType = .int8
        default: entryType = .float32
        }
    }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        quantizationUnsupportedReason(elementType, shape)
    }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        let codes = SectionLayout("codes", byteCount: shape.rows * bytesPerRow(shape))
        let palettes = SectionLayout("palettes", byteCount: shape.groupCount(group) * bytesPerPalette)
        return [codes, palettes] + (hasScales ? [SectionLayout("scales", byteCount: shape.rows * 4)] : [])
    }

    public func units(shape: Shape) -> [Range<Int>] { shape.rowGroups(group) }

    var size: Int { 1 << bits }
    private var reach: Int { method == .gptq ? Palette.feedbackReach(of: size) : 0 }
    /// An integer table is stored after its factor, a float32.
    private var bytesPerPalette: Int { size * entryType.byteCount + (entryType == .int8 ? 4 : 0) }
    func bytesPerRow(_ shape: Shape) -> Int { BitPacking.byteCount(shape.columns, bits: bits) }
    func groupIndex(_ row: Int) -> Int { group.map { row / $0 } ?? 0 }

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
        let statistics = method.usesStatistics ? statistics : nil
        if statistics == nil,
            let distortion = try encodingHalves(unit, of: source, threads: threads, into: sections)
        {
            return distortion
        }
        var scales: [Float] = []
        let centers: [Double]
        let factor = method == .gptq ? statistics?.factor(feedbackOrder(source.shape), threads: 1) : nil
        if hasScales || statistics != nil {
            if hasScales { try source.forEachFiniteRow(unit) { _, row in scales.append(Self.scale(row)) } }
            centers = try weightedCenters(
                unit, of: source, scales: scales,
                importance: factor.map { $0.byColumn(ActivationStatistics.floored($0.pivots)) }
                    ?? statistics?.importance)
            if hasScales {
                sections[2].withMemoryRebound(to: Float.self) { target in
                    for (index, row) in unit.enumerated() { target[row] = scales[index] }
                }
            }
        } else {
            centers = try self.centers(unit, of: source, threads: threads)
        }
        let palette = Palette(try store(centers, group: groupIndex(unit.lowerBound), in: sections[1], of: source))
        let (blocks, rowScales) = (source.rowBlocks(of: 1 << 17, in: unit), scales)
        guard let target = sections[0].baseAddress.map(SharedBytes.init) else { return Distortion() }
        let parts = try Parallel.map(blocks.count, threads: threads) { index in
            if let factor {
                let (rows, first) = (blocks[index], unit.lowerBound)
                let scales = hasScales ? rowScales[rows.lowerBound - first..<rows.upperBound - first] : []
                var grid = PaletteFeedbackGrid(palette, reach: reach, scales: Array(scales))
                return try source.feedingBack(rows: rows, by: factor, on: &grid) { row, codes in
                    BitPacking.pack(
                        UnsafeBufferPointer(start: codes, count: source.shape.columns), bits: bits,
                        into: (target.start + row * bytesPerRow(source.shape)).assumingMemoryBound(to: UInt8.self))
                }
            }
            return try encode(blocks[index], of: source, with: palette, into: target) {
                hasScales ? rowScales[$0 - unit.lowerBound] : 1
            }
        }
        return parts.reduce(into: Distortion()) { $0.merge($1) }
    }

    private func encode(
        _ rows: Range<Int>, of source: StoredTensor, with palette: Palette, into target: SharedBytes,
        scale: (_ row: Int) -> Float
    ) throws -> Distortion {
        let columns = source.shape.columns
        var distortion = Distortion()
        try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(columns, 1)) { codes in
            let codes = UnsafeMutableBufferPointer(rebasing: codes[..<columns])
            try source.forEachFiniteRow(rows) { row, values in
                distortion.merge(palette.encode(UnsafeBufferPointer(values), scale: scale(row), into: codes))
                guard columns > 0 else { return }
                BitPacking.pack(
                    UnsafeBufferPointer(codes), bits: bits,
                    into: (target.start + row * bytesPerRow(source.shape)).assumingMemoryBound(to: UInt8.self))
            }
        }
        return distortion
    }

    private func centers(_ unit: Range<Int>, of source: StoredTensor, threads: Int) throws -> [Double] {
        let elements = source.elements(ofRows: unit)
        if elements.count >= CellSearch.leastCount {
            // Sums depend on the division into parts, so it must not depend on the number of threads.
            let parts = source.rowBlocks(of: 1 << 21, in: unit)
            if let centers = try CellSearch.centers(
                count: elements.count, k: size, parts: parts.count, threads: threads,
                { part, body in source.forEachBlock(parts[part], body) })
            {
                return centers
            }
        }
        return try withPoints(elements.count) { points in
            try source.readFinite(elements, into: points)
            return ExactKMeans.centers(of: points, k: size)
        }
    }

    private func withPoints<Result>(
        _ count: Int, _ body: (UnsafeMutableBufferPointer<Float>) throws -> Result
    ) rethrows -> Result {
        let points = UnsafeMutableBufferPointer<Float>.allocate(capacity: count)
        defer { points.deallocate() }
        return try body(points)
    }

    /// Returns the largest magnitude of a row; 1 for a row of zeros.
    private static func scale(_ row: UnsafeMutableBufferPointer<Float>) -> Float {
        var largest: Float = 0
        for value in row { largest = max(largest, abs(value)) }
        return largest > 0 ? largest : 1
    }

    /// Returns the centers of the rows divided by their scales. An error of a divided value counts by scale^2, as it
    /// does in the weight itself, times the importance of its column.
    private func weightedCenters(
        _ unit: Range<Int>, of source: StoredTensor, scales: [Float], importance: [Float]?
    ) throws -> [Double] {
        let columns = source.shape.columns
        return try withPoints(unit.count * columns) { points in
            try source.readFinite(source.elements(ofRows: unit), into: points)
            if hasScales { for index in points.indices { points[index] /= scales[index / columns] } }
            let order = RadixSort.order(UnsafeBufferPointer(points))
            // Relative to the largest, so that squares of very different scales neither vanish nor overflow.
            let largest = Double(scales.max() ?? 1)
            let weights = order.map { index in
                let (row, column) = Int(index).quotientAndRemainder(dividingBy: columns)
                let ratio = hasScales ? Double(scales[row]) / largest : 1
                return max(ratio * ratio, 1e-60) * Double(importance?[column] ?? 1)
            }
            let sorted = order.map { points[Int($0)] }
            return sorted.withUnsafeBufferPointer { sorted in
                weights.withUnsafeBufferPointer { ExactKMeans.centers(of: sorted, weights: $0, k: size) }
            }
        }
    }

    /// Returns the entries rounded to their type, with the last one repeated up to the table's size.
    private func rounded(_ centers: [Double], scale: Float) -> [Float] {
        var entries = centers.map { center in
            switch entryType {
            case .float16: Half.rounded(Float(center))
            case .int8: scale * Self.integer(center, scale)
            default: Float(center)
            }
        }
        let last = entries.last ?? 0
        entries.append(contentsOf: repeatElement(last, count: size - entries.count))
        return entries
    }

    private static func integer(_ center: Double, _ scale: Float) -> Float {
        Float(min(max((center / Double(scale)).rounded(.toNearestOrEven), -127), 127))
    }

    /// Stores the table of a group, and returns its entries as they decode.
    /// - Throws: `FormatError` for an entry that exceeds float16.
    func store(
        _ centers: [Double], group index: Int, in section: UnsafeMutableRawBufferPointer, of source: StoredTensor
    ) throws -> [Float] {
        let largest = Float(centers.map { abs($0) }.max() ?? 0)
        var scale = largest == 0 ? 1 : max(largest / 127, .leastNonzeroMagnitude)
        while !(scale * 127).isFinite, largest.isFinite { scale = scale.nextDown }
        let entries = rounded(centers, scale: scale)
        if let large = entries.firstIndex(where: { !$0.isFinite }) {
            let center = centers[min(large, centers.count - 1)]
            throw source.error(
                "needs a palette entry of \(Float(center)), beyond float16; store it with entries=float32")
        }
        let start = index * bytesPerPalette
        if entryType == .int8 { section.storeBytes(of: scale, toByteOffset: start, as: Float.self) }
        for (slot, entry) in entries.enumerated() {
            switch entryType {
            case .float16: section.storeBytes(of: Half.bits(entry), toByteOffset: start + slot * 2, as: UInt16.self)
            case .int8:
                let integer = Int8(Self.integer(Double(entry), scale))
                section.storeBytes(of: integer, toByteOffset: start + 4 + slot, as: Int8.self)
            default: section.storeBytes(of: entry, toByteOffset: start + slot * 4, as: Float.self)
            }
        }
        return entries
    }

    func entries(of weight: CompressedTensor, group index: Int) -> [Float] {
        [Float](unsafeUninitializedCapacity: size) { buffer, count in
            count = size
            if let start = buffer.baseAddress { loadEntries(of: weight, group: index, into: start) }
        }
    }

    /// Reads the 2^bits entries of a group's table.
    package func loadEntries(
        of weight: CompressedTensor, group index: Int, into target: UnsafeMutablePointer<Float>
    ) {
        let start = index * bytesPerPalette
        weight.sections[1].withBytes { section in
            let entries = index * size..<(index + 1) * size
            switch entryType {
            case .float16: ScaleType.float16.load(section, entries, into: target)
            case .int8:
                let scale = section.loadUnaligned(fromByteOffset: start, as: Float.self)
                for slot in 0..<size {
                    let entry = section.loadUnaligned(fromByteOffset: start + 4 + slot, as: Int8.self)
                    target[slot] = scale * Float(entry)
                }
            default: ScaleType.float32.load(section, entries, into: target)
            }
        }
    }

    func scale(of weight: CompressedTensor, row: Int) -> Float {
        guard hasScales else { return 1 }
        return weight.sections[2].withBytes { $0.loadUnaligned(fromByteOffset: row * 4, as: Float.self) }
    }

    /// Multiplies one number of each row by the row's scale. The codec must have scales.
    package func multiply(
        _ sums: UnsafeMutablePointer<Float>, byScalesOf rows: Range<Int>, of weight: CompressedTensor
    ) {
        weight.sections[2].withBytes { scales in
            for index in 0..<rows.count {
                sums[index] *= scales.loadUnaligned(fromByteOffset: (rows.lowerBound + index) * 4, as: Float.self)
            }
        }
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let columns = weight.shape.columns
        guard columns > 0, let target = target.baseAddress else { return }
        let table = scratch.assumingMemoryBound(to: Float.self)
        let codes = UnsafeMutableBufferPointer(
            start: (table + size).withMemoryRebound(to: UInt8.self, capacity: columns) { $0 }, count: columns)
        var current = -1
        for index in 0..<rows.count {
            let row = rows.lowerBound + index
            if groupIndex(row) != current {
                current = groupIndex(row)
                loadEntries(of: weight, group: current, into: table)
            }
            let out = UnsafeMutableBufferPointer(start: target + index * columns, count: columns)
            lookUp(row, of: weight, in: table, into: out, codes: codes)
            let scale = scale(of: weight, row: row)
            if hasScales { for slot in 0..<columns { out[slot] *= scale } }
        }
    }

    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int {
        size * MemoryLayout<Float>.stride + shape.columns
    }

    private func lookUp(
        _ row: Int, of weight: CompressedTensor, in table: UnsafePointer<Float>,
        into target: UnsafeMutableBufferPointer<Float>, codes: UnsafeMutableBufferPointer<UInt8>
    ) {
        let start = row * bytesPerRow(weight.shape)
        weight.sections[0].withBytes { bytes in
            guard let packed = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            switch bits {
            case 4: ck_decode_palette4(packed + start, 0, table, target.baseAddress, target.count)
            case 8: ck_look_up(packed + start, table, 8, target.count, target.baseAddress)
            default:
                BitPacking.unpack(packed + start, bits: bits, into: codes)
                ck_look_up(codes.baseAddress, table, Int32(bits), target.count, target.baseAddress)
            }
        }
    }

    private func forEachCode(
        _ row: Int, of weight: CompressedTensor, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Void
    ) {
        let bytes = bytesPerRow(weight.shape)
        weight.sections[0][row * bytes..<(row + 1) * bytes].withBytes { packed in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(weight.shape.columns, 1)) { codes in
                let codes = UnsafeMutableBufferPointer(rebasing: codes[..<weight.shape.columns])
                guard let start = packed.baseAddress else { return }
                BitPacking.unpack(start.assumingMemoryBound(to: UInt8.self), bits: bits, into: codes)
                body(codes)
            }
        }
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let (columns, reach) = (weight.shape.columns, reach)
        for row in rows {
            let palette = Palette(entries(of: weight, group: groupIndex(row)))
            let scale = scale(of: weight, row: row)
            var found: Int?
            withUnsafeTemporaryAllocation(of: Float.self, capacity: max(columns, 1)) { values in
                source.readFloats(row * columns..<(row + 1) * columns, into: values)
                forEachCode(row, of: weight) { codes in
                    found = (0..<columns).first {
                        !palette.isNear(codes[$0], to: values[$0], scale: scale, reach: reach)
                    }
                }
            }
            if let found {
                return (row * columns + found, Palette.distantCode(reach))
            }
        }
        return nil
    }
}
