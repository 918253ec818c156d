public import AccelByteIO
public import AccelTensors
import CAccelKernels

/// Magnitude pruning: small weights become zero, and the inner codec stores the others. A zero costs one bit of a mask,
/// and no palette entry.
///
/// The kept weights, row-major, form a matrix with the same number of rows, each of the average length rounded up; its
/// end is padded with the last kept weight. The inner codec encodes this matrix. Sections: those of the inner codec;
/// `mask` (one bit per weight; each row starts at a byte boundary, lowest bits first); `starts` (32 bits each: the
/// number of kept weights in all rows before, for each row and the end).
public struct SparseCodec: LayeredCodec {
    public static let name = "sparse"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "target", allowed: ["none"], free: .share, default: "none",
            help:
                "prune this share of the weights, the smallest, with those that would be stored as equal; 0.5 if no rule is "
                + "given"),
        CodecOption(
            "threshold", allowed: ["none"], free: .number, default: "none",
            help: "prune weights of smaller magnitude"),
        CodecOption(
            "pattern", allowed: ["none"], free: .pattern, default: "none",
            help: "N:M: keep the N largest of every M neighbours in a row"),
        CodecOption(
            "kept", allowed: ["all"], free: .count, default: "all", isFilledIn: true,
            help: "the number of kept weights, if the rule does not determine it"),
    ]

    public let values: CodecOptionValues
    let inner: any WeightCodec
    private let rule: PruningRule

    /// Creates the codec around the inner codec of `values`.
    /// - Throws: `RequestError` for more than one pruning rule, or an invalid inner codec.
    public init(_ values: CodecOptionValues) throws {
        var (inner, values) = try Self.inner(of: values)
        let rules = ["target", "threshold", "pattern"].filter { values[$0] != "none" }
        guard rules.count <= 1 else {
            throw RequestError("sparse: \(rules.joined(separator: " and ")) exclude each other; give one pruning rule")
        }
        if rules.isEmpty { values = values.replacing("target", by: "0.5") }
        if let least = Double(values["threshold"]) {
            rule = .threshold(least)
        } else if values["pattern"] != "none" {
            let numbers = values["pattern"].split(separator: ":").compactMap { Int($0) }
            rule = .pattern(keep: numbers.first ?? 1, of: numbers.last ?? 2)
        } else {
            rule = .target(Double(values["target"]) ?? 0.5)
        }
        (self.values, self.inner) = (values, inner)
    }

    private var filledIn: Int? { values.integer("kept") }
    private func kept(_ shape: Shape) -> Int { filledIn ?? rule.kept(rows: shape.rows, columns: shape.columns) }
    private func bytesPerRow(_ shape: Shape) -> Int { (shape.columns + 7) / 8 }

    func innerShape(_ shape: Shape) -> Shape {
        let rows = max(shape.rows, 1)
        return [rows, max(1, (kept(shape) + rows - 1) / rows)]
    }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        if let reason = quantizationUnsupportedReason(elementType, shape) { return reason }
        let limit = rule.kept(rows: shape.rows, columns: shape.columns)
        if kept(shape) > limit { return "\(kept(shape)) kept weights are more than the \(limit) that the rule keeps" }
        if limit > Int(UInt32.max) { return "\(limit) kept weights are more than 32 bits can count" }
        return inner.unsupportedReason(elementType: .float32, shape: innerShape(shape))
    }

    func ownSections(_ shape: Shape) -> [SectionLayout] {
        [
            SectionLayout("mask", byteCount: shape.rows * bytesPerRow(shape)),
            SectionLayout("starts", byteCount: (shape.rows + 1) * 4),
        ]
    }

    public func units(shape: Shape) -> [Range<Int>] { [0..<shape.rows] }

    public func resolved(for source: StoredTensor) throws -> any WeightCodec {
        let floats = try source.finiteFloats()
        let mask = rule.mask(floats, stored: stored(floats), columns: source.shape.columns)
        let count = mask.reduce(0) { $0 + ($1 ? 1 : 0) }
        let isFull = count == rule.kept(rows: source.shape.rows, columns: source.shape.columns)
        let resolved = try SparseCodec(values.replacing("kept", by: isFull ? "all" : "\(count)"))
        let inner = try inner.resolved(for: resolved.innerSource(floats, mask, of: source))
        return try SparseCodec(resolved.values.replacing(inner: inner.values))
    }

    /// Returns the weights as the inner codec would round them; unchanged if rounding depends on the other weights.
    private func stored(_ floats: [Float]) -> [Float] {
        (inner as? any FloatCodec).map { type(of: $0).rounded(floats) } ?? floats
    }

    private func innerFloats(_ floats: [Float], _ mask: [Bool], _ shape: Shape) -> [Float] {
        var kept = floats.indices.filter { mask[$0] }.map { floats[$0] }
        kept.append(contentsOf: repeatElement(kept.last ?? 0, count: max(0, innerShape(shape).count - kept.count)))
        return kept
    }

    private func innerSource(_ floats: [Float], _ mask: [Bool], of source: StoredTensor) -> StoredTensor {
        StoredTensor(
            name: source.name, floats: innerFloats(floats, mask, source.shape), shape: innerShape(source.shape))
    }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?, threads: Int,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let shape = source.shape
        let floats = try source.finiteFloats()
        let mask = rule.mask(floats, stored: self.stored(floats), columns: shape.columns)
        let stored = try encodeInner(
            innerFloats(floats, mask, shape), of: source, given: nil, threads: threads, into: sections)
        let own = Array(own(sections, shape))
        var distortion = Distortion()
        distortion.count = floats.count
        var kept = 0
        for row in 0..<shape.rows {
            own[1].storeBytes(of: UInt32(truncatingIfNeeded: kept), toByteOffset: row * 4, as: UInt32.self)
            for column in 0..<shape.columns {
                let index = row * shape.columns + column
                var error = Double(floats[index])
                distortion.energy += error * error
                if mask[index] {
                    own[0][row * bytesPerRow(shape) + column / 8] |= 1 << UInt8(column % 8)
                    error -= Double(stored[kept])
                    kept += 1
                }
                distortion.squaredError += error * error
                distortion.maximumError = max(distortion.maximumError, abs(error))
            }
        }
        own[1].storeBytes(of: UInt32(truncatingIfNeeded: kept), toByteOffset: shape.rows * 4, as: UInt32.self)
        return distortion
    }

    public func encoding(of weight: CompressedTensor) -> WeightEncoding? {
        let shape = weight.shape
        guard let inner = innerWeight(of: weight).encoding else { return nil }
        return .sparse(
            SparseEncoding(
                mask: PackedCodes(
                    bits: 1, bytes: masks(weight.sections, shape).mask, rows: shape.rows, columns: shape.columns),
                count: kept(shape), kept: inner))
    }

    public func corruption(in sections: [ByteView], shape: Shape) -> String? {
        let (mask, starts) = masks(sections, shape)
        let bytes = bytesPerRow(shape)
        var count = 0
        for row in 0...shape.rows {
            let start = starts.start(row)
            guard start == count else { return "row \(row) starts at the kept weight \(start), expected \(count)" }
            guard row < shape.rows else { break }
            count += mask[row * bytes..<(row + 1) * bytes].withBytes { $0.reduce(0) { $0 + $1.nonzeroBitCount } }
            if shape.columns % 8 != 0, bytes > 0,
                mask.withBytes({ $0[(row + 1) * bytes - 1] }) >> (shape.columns % 8) != 0
            {
                return "the mask of row \(row) is set beyond its \(shape.columns) columns"
            }
        }
        guard count == kept(shape) else { return "the mask keeps \(count) weights, expected \(kept(shape))" }
        return inner.corruption(in: Array(sections.dropLast(2)), shape: innerShape(shape))
    }

    private func masks(_ sections: [ByteView], _ shape: Shape) -> (mask: ByteView, starts: ByteView) {
        (sections[sections.count - 2], sections[sections.count - 1])
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let columns = weight.shape.columns
        guard let target = target.baseAddress, columns > 0 else { return }
        withKept(of: rows, of: weight, scratch: scratch) { kept in
            for index in 0..<rows.count {
                ck_expand_mask(
                    kept.values + kept.start(index), kept.mask + index * kept.maskBytes, target + index * columns,
                    columns)
            }
        }
    }

    /// The kept weights of some rows.
    package struct Kept {
        /// The weights, followed by at least 16 floats of any content.
        package let values: UnsafePointer<Float>
        /// The mask of the first row, and the bytes of a row's mask.
        package let mask: UnsafePointer<UInt8>
        package let maskBytes: Int
        /// For each row and the end, the number of weights kept before it: 32 bits each, which may be unaligned.
        package let starts: UnsafeRawPointer

        /// The place of a row's weights in `values`.
        func start(_ row: Int) -> Int {
            func load(_ index: Int) -> Int { Int(starts.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)) }
            return load(row) - load(0)
        }
    }

    /// Decodes the kept weights of some rows.
    /// - Parameter scratch: `decodingScratchBytes` for as many rows.
    package func withKept(
        of rows: Range<Int>, of weight: CompressedTensor, scratch: UnsafeMutableRawPointer, _ body: (Kept) -> Void
    ) {
        let shape = weight.shape
        let (mask, starts) = masks(weight.sections, shape)
        let (first, end) = (starts.start(rows.lowerBound), starts.start(rows.upperBound))
        let length = innerWeight(of: weight).shape.columns
        let innerRows = first / length..<max((end + length - 1) / length, first / length)
        let values = scratch.assumingMemoryBound(to: Float.self)
        inner.decode(
            innerRows, of: innerWeight(of: weight),
            into: UnsafeMutableBufferPointer(start: values, count: innerRows.count * length),
            scratch: scratch + Self.valueBytes(shape, length, rows: rows.count))
        mask.withBytes { mask in
            starts.withBytes { starts in
                guard let mask = mask.baseAddress?.assumingMemoryBound(to: UInt8.self), let starts = starts.baseAddress
                else { return }
                body(
                    Kept(
                        values: values + (first - innerRows.lowerBound * length),
                        mask: mask + rows.lowerBound * bytesPerRow(shape), maskBytes: bytesPerRow(shape),
                        starts: starts + 4 * rows.lowerBound))
            }
        }
    }

    /// The most rows of the inner matrix that the kept weights of `rows` rows span.
    private static func innerRows(_ shape: Shape, _ length: Int, rows: Int) -> Int {
        rows * shape.columns / length + 2
    }

    /// The kept weights, and 16 floats that may be read after them.
    private static func valueBytes(_ shape: Shape, _ length: Int, rows: Int) -> Int {
        ((innerRows(shape, length, rows: rows) * length + 16) * MemoryLayout<Float>.stride + 15) / 16 * 16
    }

    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int {
        let length = innerShape(shape).columns
        return Self.valueBytes(shape, length, rows: rows)
            + inner.decodingScratchBytes(innerShape(shape), rows: Self.innerRows(shape, length, rows: rows))
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let shape = weight.shape
        let floats = source.floats()
        let (bits, starts) = masks(weight.sections, shape)
        let mask = bits.withBytes { bits in
            floats.indices.map { index in
                let (row, column) = index.quotientAndRemainder(dividingBy: shape.columns)
                return bits[row * bytesPerRow(shape) + column / 8] >> UInt8(column % 8) & 1 == 1
            }
        }
        if let violation = rule.violation(
            mask, of: floats, stored: stored(floats), columns: shape.columns, in: source.elements(ofRows: rows))
        {
            return violation
        }
        let length = innerShape(shape).columns
        let (first, end) = (starts.start(rows.lowerBound), starts.start(rows.upperBound))
        guard first < end else { return nil }
        let found = inner.violation(
            first / length..<(end + length - 1) / length, of: innerWeight(of: weight),
            source: innerSource(floats, mask, of: source))
        return found.map { found in
            let positions = floats.indices.filter { mask[$0] }
            return (positions[min(found.index, positions.count - 1)], found.reason)
        }
    }
}

extension ByteView {
    /// Returns the 32-bit number at `index`.
    func start(_ index: Int) -> Int {
        withBytes { Int($0.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)) }
    }
}
