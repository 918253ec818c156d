public import AccelByteIO
public import AccelTensors

/// Columns in another order: the inner codec encodes the columns in the order `order`, so that those of like magnitude
/// share scales. GPTQ's order of activations (`desc_act`) is kept in this way.
///
/// Columns are ordered by their sums of squares, the largest first. Sections: those of the inner codec, of a matrix with
/// as many rows and `slots` columns; `order` (of each column of the weight, its column in that matrix; 16 bits, or 32 bits
/// if there are more than 65,536 slots). Slots that no column has are padding between groups.
public struct PermutedCodec: LayeredCodec {
    public static let name = "permuted"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "slots", allowed: ["columns"], free: .integer, default: "columns", isFilledIn: true,
            help: "columns of the inner scheme; as many as the weight has unless its groups are of several sizes")
    ]

    public let values: CodecOptionValues
    let inner: any WeightCodec
    private let slots: Int?

    /// Creates the codec around the inner codec of `values`.
    /// - Throws: `RequestError` if there is no valid inner codec.
    public init(_ values: CodecOptionValues) throws {
        (inner, self.values) = try Self.inner(of: values)
        slots = values.integer("slots")
    }

    func innerShape(_ shape: Shape) -> Shape { [shape.rows, slots ?? shape.columns] }
    private func slotBytes(_ shape: Shape) -> Int { (slots ?? shape.columns) <= 1 << 16 ? 2 : 4 }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        if let reason = quantizationUnsupportedReason(elementType, shape) { return reason }
        let slots = slots ?? shape.columns
        guard slots >= shape.columns else { return "\(slots) slots are fewer than its \(shape.columns) columns" }
        guard slots <= Int(UInt32.max), slots <= (1 << 58) / shape.rows else {
            return "it has more columns than 32 bits can count, or more than memory can have"
        }
        return inner.unsupportedReason(elementType: .float32, shape: innerShape(shape))
    }

    func ownSections(_ shape: Shape) -> [SectionLayout] {
        [SectionLayout("order", byteCount: shape.columns * slotBytes(shape))]
    }

    public func units(shape: Shape) -> [Range<Int>] { [0..<shape.rows] }

    /// Returns the slot of each column of a weight to encode: the rank of its sum of squares.
    private func ranks(_ floats: [Float], columns: Int) -> [Int] {
        var sums = [Double](repeating: 0, count: columns)
        for start in stride(from: 0, to: floats.count, by: max(columns, 1)) {
            for column in 0..<columns {
                sums[column] += Double(floats[start + column]) * Double(floats[start + column])
            }
        }
        var ranks = [Int](repeating: 0, count: columns)
        let sorted = sums.indices.sorted { sums[$0] == sums[$1] ? $0 < $1 : sums[$0] > sums[$1] }
        for (rank, column) in sorted.enumerated() { ranks[column] = rank }
        return ranks
    }

    /// Returns rows of `slots` elements; those without a column are as in `others`.
    private func placed(_ floats: [Float], _ order: [Int], slots: Int, others: [Float]? = nil) -> [Float] {
        let rows = floats.count / max(order.count, 1)
        var result = others ?? [Float](repeating: 0, count: rows * slots)
        for row in 0..<rows {
            for (column, slot) in order.enumerated() { result[row * slots + slot] = floats[row * order.count + column] }
        }
        return result
    }

    public func resolved(for source: StoredTensor) throws -> any WeightCodec {
        let (floats, columns) = (try source.finiteFloats(), source.shape.columns)
        let inner = try inner.resolved(
            for: StoredTensor(
                name: source.name, floats: placed(floats, ranks(floats, columns: columns), slots: columns),
                shape: [source.shape.rows, columns]))
        return try PermutedCodec(values.replacing("slots", by: "columns").replacing(inner: inner.values))
    }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?, threads: Int,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let columns = source.shape.columns
        let floats = try source.finiteFloats()
        let order = ranks(floats, columns: columns)
        var placed = placed(floats, order, slots: columns)
        var stored: [Float]
        do {
            stored = try encodeInner(placed, of: source, given: nil, threads: threads, into: sections)
        } catch let error as FormatError {
            throw named(error, columns: order, source)
        }
        let target = sections[sections.count - 1]
        for (column, slot) in order.enumerated() {
            if slotBytes(source.shape) == 2 {
                target.storeBytes(of: UInt16(truncatingIfNeeded: slot), toByteOffset: column * 2, as: UInt16.self)
            } else {
                target.storeBytes(of: UInt32(truncatingIfNeeded: slot), toByteOffset: column * 4, as: UInt32.self)
            }
        }
        // Sums of errors do not depend on the order of the columns.
        var distortion = Distortion()
        placed.withUnsafeMutableBufferPointer { placed in
            stored.withUnsafeMutableBufferPointer { distortion.add(placed, storedAs: $0) }
        }
        return distortion
    }

    /// Returns the error with the place of the weight that it is about.
    private func named(_ error: FormatError, columns order: [Int], _ source: StoredTensor) -> FormatError {
        guard case .tensor(_, let index?) = error.location else { return error }
        let (row, slot) = index.quotientAndRemainder(dividingBy: order.count)
        return source.error(error.reason, index: row * order.count + (order.firstIndex(of: slot) ?? 0))
    }

    /// Returns the slot of each column.
    private func order(of weight: CompressedTensor) -> [Int] {
        let bytes = slotBytes(weight.shape)
        return weight.sections[weight.sections.count - 1].withBytes { section in
            (0..<weight.shape.columns).map { Self.slot($0, in: section, width: bytes) }
        }
    }

    private static func slot(_ column: Int, in section: UnsafeRawBufferPointer, width: Int) -> Int {
        width == 2
            ? Int(section.loadUnaligned(fromByteOffset: column * 2, as: UInt16.self))
            : Int(section.loadUnaligned(fromByteOffset: column * 4, as: UInt32.self))
    }

    public func corruption(in sections: [ByteView], shape: Shape) -> String? {
        let (slots, width) = (slots ?? shape.columns, slotBytes(shape))
        var isTaken = [Bool](repeating: false, count: slots)
        let reason = sections[sections.count - 1].withBytes { section -> String? in
            for column in 0..<shape.columns {
                let slot = Self.slot(column, in: section, width: width)
                guard slot < slots else { return "column \(column) has the slot \(slot), expected 0 to \(slots - 1)" }
                guard !isTaken[slot] else { return "two columns have the slot \(slot), the second is \(column)" }
                isTaken[slot] = true
            }
            return nil
        }
        return reason ?? inner.corruption(in: Array(sections.dropLast()), shape: innerShape(shape))
    }

    /// Returns the weight of the inner codec, with the columns in their slots.
    package func slottedWeight(of weight: CompressedTensor) -> CompressedTensor { innerWeight(of: weight) }

    /// Puts the element of each of a weight's columns into the column's slot; slots without a column become 0.
    package func place(
        _ row: UnsafePointer<Float>, inSlotsOf weight: CompressedTensor, into target: UnsafeMutablePointer<Float>
    ) {
        let (columns, width) = (weight.shape.columns, slotBytes(weight.shape))
        let count = slots ?? columns
        if count > columns { target.update(repeating: 0, count: count) }
        weight.sections[weight.sections.count - 1].withBytes { order in
            for column in 0..<columns { target[Self.slot(column, in: order, width: width)] = row[column] }
        }
    }

    /// A row of the inner codec, and its scratch memory.
    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int {
        let within = innerShape(shape)
        return floatRowBytes(within.columns) + inner.decodingScratchBytes(within, rows: 1)
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let (columns, within) = (weight.shape.columns, innerWeight(of: weight))
        let values = UnsafeMutableBufferPointer(
            start: scratch.assumingMemoryBound(to: Float.self), count: within.shape.columns)
        let (memory, width) = (scratch + floatRowBytes(within.shape.columns), slotBytes(weight.shape))
        weight.sections[weight.sections.count - 1].withBytes { order in
            for index in 0..<rows.count {
                let row = rows.lowerBound + index
                inner.decode(row..<row + 1, of: within, into: values, scratch: memory)
                for column in 0..<columns {
                    target[index * columns + column] = values[Self.slot(column, in: order, width: width)]
                }
            }
        }
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let (columns, within, order) = (weight.shape.columns, innerWeight(of: weight), order(of: weight))
        let slots = within.shape.columns
        // What no column has is what it is stored as.
        let floats = placed(
            source.floats(), order, slots: slots, others: slots == columns ? nil : within.floats())
        let found = inner.violation(
            rows, of: within, source: StoredTensor(name: source.name, floats: floats, shape: within.shape))
        return found.map { found in
            let (row, slot) = found.index.quotientAndRemainder(dividingBy: slots)
            return (row * columns + (order.firstIndex(of: slot) ?? 0), found.reason)
        }
    }
}
