import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Integer codes of a matrix, `scale * (code - zero)`, with a scale and a zero for each group of a row. Codes, scales and zeros are read
/// when they are used: the scheme follows from their types and counts.
struct GroupedCodes: Sendable {
    /// The zeros of groups: row-major, one for each scale.
    enum Zeros: Sendable {
        /// Half of the range of codes.
        case middle
        /// Integers in the range of codes.
        case integers(@Sendable () throws -> [Float])
        /// Numbers of a type.
        case floats(ElementType, @Sendable () throws -> [Float])
    }

    let rows: Int
    let columns: Int
    let bits: Int
    /// Reads the codes: unsigned, row-major.
    let codes: @Sendable () throws -> [UInt8]
    /// Columns of a group; the last group of a row may be smaller.
    let group: Int
    /// Groups of a row.
    let groups: Int
    /// Reads the scales: row-major.
    let scales: @Sendable () throws -> [Float]
    /// The type of the scales.
    let scaleType: ElementType
    let zeros: Zeros

    private var shape: Shape { [rows, columns] }

    /// Reads the zeros as numbers.
    private func zeroValues() throws -> [Float] {
        switch zeros {
        case .middle: [Float](repeating: Float(1 << (bits - 1)), count: rows * groups)
        case .integers(let read), .floats(_, let read): try read()
        }
    }

    /// Returns the weight in a codec that has all its numbers, or its values.
    func weight() -> QuantizedWeight {
        guard let size = Self.blocks.last(where: { group % $0 == 0 }) ?? (groups == 1 ? columns : nil) else {
            return columns % group == 0 ? flat() : decoded("no scheme has groups of \(group)")
        }
        let block = groups == 1 ? "channel" : "\(size)"
        let blocks = groups == 1 ? 1 : (columns + size - 1) / size
        // A group of several blocks has its scale in each of them.
        let scaleIndices: @Sendable () -> [Int] = { [rows, groups, group] in
            (0..<rows).flatMap { row in
                (0..<blocks).map { row * groups + (groups == 1 ? 0 : $0 * size / group) }
            }
        }
        if bits == 4, hasIntegerZeros { return int4(block, blocks, scaleIndices) }
        guard let width = [2, 3, 4, 5, 6, 8].first(where: { $0 >= bits }) else { return decoded("") }
        guard hasExactBiases else {
            return columns % group == 0 ? flat() : decoded("a zero point times its scale is no float32")
        }
        return .encoded(
            codec: "affine:bits=\(width),block=\(block),scales=float32", shape: shape
        ) {
            let (scales, zeros, scaleIndices) = (try scales(), try zeroValues(), scaleIndices())
            let biases = try scaleIndices.map { place in
                try Self.exactProduct(-scales[place], zeros[place])
            }
            return [
                Self.packed(try codes(), bits: width, columns), ByteView(scaleIndices.map { scales[$0] }),
                ByteView(biases),
            ]
        }
    }

    private var hasIntegerZeros: Bool { if case .floats = zeros { false } else { true } }

    /// Whether products of scales and zeros are numbers of float32, by the bits of both.
    private var hasExactBiases: Bool {
        let zeroBits =
            switch zeros {
            // A power of two.
            case .middle: 0
            case .integers: bits
            case .floats(let type, _): Self.significantBits(type)
            }
        return Self.significantBits(scaleType) + zeroBits <= Self.significantBits(.float32)
    }

    private static func significantBits(_ type: ElementType) -> Int {
        switch type {
        case .float16: Float16.significandBitCount + 1
        case .bfloat16: 8
        default: Float.significandBitCount + 1
        }
    }

    /// Returns a product whose digits fit into float32.
    /// - Throws: `RequestError` if it is out of range.
    private static func exactProduct(_ left: Float, _ right: Float) throws -> Float {
        let product = left * right
        guard product.isFinite, Double(product) == Double(left) * Double(right) else {
            throw RequestError(
                "the scale \(-left) times the zero point \(right) is out of the range of float32", status: .unavailable)
        }
        return product
    }

    /// Returns the codes with their zero points as they are: groups are neighbours in the flat tensor.
    private func flat() -> QuantizedWeight {
        let width = bits == 7 ? 8 : bits
        return .encoded(
            codec: "hqq:bits=\(width),group=\(group),scales=float32", shape: shape
        ) { [Self.packed(try codes(), bits: width, columns), ByteView(try scales()), ByteView(try zeroValues())] }
    }

    /// Returns the weight with columns in any order: those of a group are side by side in a codec of its own.
    /// - Parameter groupOfColumn: the group of each column.
    func permuted(groupOfColumn: [Int]) -> QuantizedWeight {
        var counts = [Int](repeating: 0, count: groups)
        for group in groupOfColumn { counts[group] += 1 }
        let isRegular = counts.dropLast().allSatisfy { $0 == group } && (counts.last ?? 0) <= group
        // Groups of several sizes are padded to whole blocks, each with the scales of its group.
        let block = isRegular ? group : Self.blocks[0]
        let blocksOfGroups = isRegular ? counts.map { _ in 1 } : counts.map { ($0 + block - 1) / block }
        var next = [Int](repeating: 0, count: groups)
        for index in 1..<max(groups, 1) { next[index] = next[index - 1] + blocksOfGroups[index - 1] * block }
        let slots = isRegular ? columns : blocksOfGroups.reduce(0, +) * block
        let order = groupOfColumn.map { group in
            defer { next[group] += 1 }
            return next[group]
        }
        let placed: @Sendable () throws -> [UInt8] = { [rows, columns, codes] in
            let codes = try codes()
            var placed = [UInt8](repeating: 0, count: rows * slots)
            for row in 0..<rows {
                for (column, slot) in order.enumerated() { placed[row * slots + slot] = codes[row * columns + column] }
            }
            return placed
        }
        /// The groups of blocks, of the values of groups.
        let repeated: @Sendable ([Float]) -> [Float] = { [rows, groups] values in
            (0..<rows).flatMap { row in
                blocksOfGroups.indices.flatMap { repeatElement(values[row * groups + $0], count: blocksOfGroups[$0]) }
            }
        }
        let inner = GroupedCodes(
            rows: rows, columns: slots, bits: bits, codes: placed, group: block, groups: blocksOfGroups.reduce(0, +),
            scales: { [scales] in repeated(try scales()) }, scaleType: scaleType,
            zeros: zeros.map(repeated)
        ).weight()
        guard case .encoded(let codec, _, _, let sections) = inner else {
            return decoded("no scheme has its groups in the order of activations", groupOfColumn: groupOfColumn)
        }
        let positions =
            slots <= 1 << 16
            ? ByteView(order.map { UInt16(truncatingIfNeeded: $0) })
            : ByteView(order.map { UInt32(truncatingIfNeeded: $0) })
        return .encoded(
            codec: "permuted:slots=\(slots == columns ? "columns" : "\(slots)")+\(codec)", shape: shape
        ) { try sections() + [positions] }
    }

    /// The blocks that codecs have.
    private static let blocks = [16, 32, 64, 128]

    private func int4(_ block: String, _ blocks: Int, _ scaleIndices: @escaping @Sendable () -> [Int])
        -> QuantizedWeight
    {
        let isSymmetric = if case .middle = zeros { true } else { false }
        let hasHalfScales = scaleType == .float16
        return .encoded(
            codec: "int4:block=\(block),mode=\(isSymmetric ? "symmetric" : "asymmetric"),"
                + "scales=\(hasHalfScales ? "float16" : "float32")", shape: shape
        ) {
            let (scales, scaleIndices) = (try scales(), scaleIndices())
            let stored = scaleIndices.map { scales[$0] }
            let signed = try codes().map { ($0 &- 8) & 15 }
            var sections = [Self.packed(signed, bits: 4, columns)]
            sections.append(hasHalfScales ? ByteView(stored.map { Float16($0).bitPattern }) : ByteView(stored))
            if !isSymmetric {
                let zeros = try zeroValues()
                sections.append(Self.packed(scaleIndices.map { (UInt8(zeros[$0]) &- 8) & 15 }, bits: 4, blocks))
            }
            return sections
        }
    }

    /// Returns codes as codecs pack them: each row from a byte on.
    static func packed(_ codes: [UInt8], bits: Int, _ columns: Int) -> ByteView {
        let perRow = (columns * bits + 7) / 8
        let rows = codes.count / max(columns, 1)
        var bytes = [UInt8](repeating: 0, count: rows * perRow)
        bytes.withUnsafeMutableBufferPointer { bytes in
            codes.withUnsafeBufferPointer { codes in
                for row in 0..<rows {
                    let (source, target) = (codes[(row * columns)..<((row + 1) * columns)], row * perRow)
                    var (stream, filled, byte) = (UInt32(0), 0, target)
                    for code in source {
                        stream |= UInt32(code) << UInt32(filled)
                        filled += bits
                        while filled >= 8 {
                            bytes[byte] = UInt8(truncatingIfNeeded: stream)
                            (stream, filled, byte) = (stream >> 8, filled - 8, byte + 1)
                        }
                    }
                    if filled > 0 { bytes[byte] = UInt8(truncatingIfNeeded: stream) }
                }
            }
        }
        return ByteView(bytes)
    }

    /// Returns the values, in float32.
    /// - Parameter groupOfColumn: the group of each column, if columns are not in the order of groups.
    func decoded(_ reason: String, groupOfColumn: [Int]? = nil) -> QuantizedWeight {
        .decoded(shape: shape, reason: reason) {
            let (codes, scales, zeros) = (try codes(), try scales(), try zeroValues())
            var values = [Float](repeating: 0, count: rows * columns)
            for row in 0..<rows {
                for column in 0..<columns {
                    let place = row * groups + (groupOfColumn?[column] ?? column / group)
                    values[row * columns + column] =
                        scales[place] * (Float(codes[row * columns + column]) - zeros[place])
                }
            }
            return values
        }
    }
}

extension GroupedCodes.Zeros {
    /// Returns zeros that are changed when they are read.
    func map(_ change: @escaping @Sendable ([Float]) -> [Float]) -> Self {
        switch self {
        case .middle: .middle
        case .integers(let read): .integers { change(try read()) }
        case .floats(let type, let read): .floats(type) { change(try read()) }
        }
    }
}
