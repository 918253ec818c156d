import AccelByteIO
public import AccelTensors
import CAccelKernels

/// Vector quantisation: neighbours in a row share an index into a table of short vectors, at `bits / size` bits per
/// weight.
///
/// Sections: `codes` (one per `size` weights of a row, whose end is padded with zeros; each row starts at a byte
/// boundary, lowest bits first), `palettes` (2^bits entries of `size` values per group of rows).
public struct VectorCodec: SingleSchemeCodec {
    public static let name = "vector"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "bits", allowed: ["2", "4", "6", "8"], default: "8", isAlwaysNamed: true,
            help: "bits of a code; a multiple of size"),
        CodecOption("size", allowed: ["2", "4"], default: "2", isAlwaysNamed: true, help: "weights that share a code"),
        CodecOption(
            "group", allowed: ["tensor"], free: .integer, default: "tensor",
            help: "output channels that share a table; the last group may be smaller"),
        CodecOption("entries", allowed: ["float16", "float32"], default: "float16", help: "type of the tables"),
    ]

    public let values: CodecOptionValues
    package let bits: Int
    /// The elements of an entry: 2 or 4.
    package let size: Int
    /// The number of rows that share a table; nil for all of them.
    package let group: Int?
    private let type: ScaleType

    /// Creates the codec.
    /// - Throws: `RequestError` if `bits` is not a multiple of `size`.
    public init(_ values: CodecOptionValues) throws {
        self.values = values
        bits = values.integer("bits") ?? 8
        size = values.integer("size") ?? 2
        group = values.integer("group")
        type = ScaleType(rawValue: values["entries"]) ?? .float16
        guard bits % size == 0 else {
            throw RequestError("vector: bits=\(bits) is not a multiple of size=\(size)")
        }
    }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        quantizationUnsupportedReason(elementType, shape)
    }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        [
            SectionLayout("codes", byteCount: shape.rows * bytesPerRow(shape)),
            SectionLayout("palettes", byteCount: shape.groupCount(group) * entryCount * type.byteCount),
        ]
    }

    public func encoding(of weight: CompressedTensor) -> WeightEncoding? {
        let shape = weight.shape
        let tables = units(shape: shape).indices.map { index in
            weight.sections[1].withBytes { bytes in
                (0..<entryCount).map { type.load(bytes, at: index * entryCount + $0) }
            }
        }
        return .vectors(
            VectorEncoding(
                codes: PackedCodes(bits: bits, bytes: weight.sections[0], rows: shape.rows, columns: perRow(shape)),
                tables: tables, size: size, rowsPerTable: group ?? max(shape.rows, 1)))
    }

    public func units(shape: Shape) -> [Range<Int>] { shape.rowGroups(group) }

    /// The number of values in a table.
    package var entryCount: Int { size << bits }
    /// The codes of a row.
    package func perRow(_ shape: Shape) -> Int { (shape.columns + size - 1) / size }
    private func bytesPerRow(_ shape: Shape) -> Int { BitPacking.byteCount(perRow(shape), bits: bits) }
    private func groupIndex(_ row: Int) -> Int { group.map { row / $0 } ?? 0 }

    /// Returns the rows padded with zeros to whole vectors.
    private func vectors(_ floats: UnsafeBufferPointer<Float>, _ shape: Shape) -> [Float] {
        if shape.columns % size == 0 { return Array(floats) }
        let padding = repeatElement(Float(0), count: size - shape.columns % size)
        return stride(from: 0, to: floats.count, by: max(shape.columns, 1)).flatMap { start in
            Array(floats[start..<start + shape.columns]) + padding
        }
    }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let shape = source.shape
        var floats = try [Float](unsafeUninitializedCapacity: unit.count * shape.columns) { target, count in
            count = unit.count * shape.columns
            try source.readFinite(source.elements(ofRows: unit), into: target)
        }
        let points = floats.withUnsafeBufferPointer { vectors($0, shape) }
        let entries = VectorKMeans.entries(of: points, size: size, bits: bits).map { type.rounded($0) }
        if let large = entries.first(where: { !$0.isFinite }) {
            throw source.error("needs a palette entry of \(large), beyond float16; store it with entries=float32")
        }
        for (slot, entry) in entries.enumerated() {
            type.store(entry, in: sections[1], at: groupIndex(unit.lowerBound) * entryCount + slot)
        }
        var codes = [UInt8](repeating: 0, count: points.count / size)
        VectorKMeans.assign(points, size, to: entries, &codes)
        var stored = [Float](repeating: 0, count: floats.count)
        codes.withUnsafeBufferPointer { codes in
            for (index, row) in unit.enumerated() {
                let part = UnsafeBufferPointer(rebasing: codes[index * perRow(shape)..<(index + 1) * perRow(shape)])
                for column in 0..<shape.columns {
                    stored[index * shape.columns + column] = entries[Int(part[column / size]) * size + column % size]
                }
                guard let target = sections[0].baseAddress else { return }
                BitPacking.pack(
                    part, bits: bits, into: (target + row * bytesPerRow(shape)).assumingMemoryBound(to: UInt8.self))
            }
        }
        var distortion = Distortion()
        floats.withUnsafeMutableBufferPointer { floats in
            stored.withUnsafeMutableBufferPointer { distortion.add(floats, storedAs: $0) }
        }
        return distortion
    }

    private func entries(of weight: CompressedTensor, group index: Int) -> [Float] {
        [Float](unsafeUninitializedCapacity: entryCount) { buffer, count in
            count = entryCount
            if let start = buffer.baseAddress { loadEntries(of: weight, group: index, into: start) }
        }
    }

    /// Reads the `entryCount` values of a group's table.
    package func loadEntries(
        of weight: CompressedTensor, group index: Int, into target: UnsafeMutablePointer<Float>
    ) {
        weight.sections[1].withBytes {
            type.load($0, index * entryCount..<(index + 1) * entryCount, into: target)
        }
    }

    private func forEachCode(
        _ row: Int, of weight: CompressedTensor, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Void
    ) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(perRow(weight.shape), 1)) { codes in
            let codes = UnsafeMutableBufferPointer(rebasing: codes[..<perRow(weight.shape)])
            unpack(row, of: weight, into: codes)
            body(codes)
        }
    }

    private func unpack(_ row: Int, of weight: CompressedTensor, into codes: UnsafeMutableBufferPointer<UInt8>) {
        weight.sections[0].withBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            BitPacking.unpack(
                (start + row * bytesPerRow(weight.shape)).assumingMemoryBound(to: UInt8.self), bits: bits,
                into: codes)
        }
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let columns = weight.shape.columns
        let table = scratch.assumingMemoryBound(to: Float.self)
        let codes = UnsafeMutableBufferPointer(
            start: (table + entryCount).withMemoryRebound(to: UInt8.self, capacity: perRow(weight.shape)) { $0 },
            count: perRow(weight.shape))
        var current = -1
        for index in 0..<rows.count {
            let row = rows.lowerBound + index
            if groupIndex(row) != current {
                current = groupIndex(row)
                loadEntries(of: weight, group: current, into: table)
            }
            unpack(row, of: weight, into: codes)
            ck_look_up_vectors(codes.baseAddress, table, size, columns, target.baseAddress.map { $0 + index * columns })
        }
    }

    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int {
        entryCount * MemoryLayout<Float>.stride + perRow(shape)
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let columns = weight.shape.columns
        var floats = [Float](repeating: 0, count: columns)
        for row in rows {
            let table = entries(of: weight, group: groupIndex(row))
            floats.withUnsafeMutableBufferPointer {
                source.readFloats(source.elements(ofRows: row..<row + 1), into: $0)
            }
            let points = floats.withUnsafeBufferPointer { vectors($0, weight.shape) }
            var nearest = [UInt8](repeating: 0, count: perRow(weight.shape))
            VectorKMeans.assign(points, size, to: table, &nearest)
            var found: Int?
            forEachCode(row, of: weight) { codes in
                found = codes.indices.first { index in
                    func distance(_ code: UInt8) -> Double {
                        (0..<size).reduce(0) { sum, slot in
                            let error = Double(points[index * size + slot]) - Double(table[Int(code) * size + slot])
                            return sum + error * error
                        }
                    }
                    // The tolerance covers the float32 sums of the search.
                    return !(distance(codes[index]) <= distance(nearest[index]) * (1 + 1e-5))
                }
            }
            if let found {
                return (row * columns + min(found * size, columns - 1), "has a code that is not the nearest entry's")
            }
        }
        return nil
    }
}
