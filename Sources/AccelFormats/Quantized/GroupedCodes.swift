import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Integer codes of a matrix, `scale * (code - zero)`, with a scale and a zero for each group of a row.
struct GroupedCodes: Sendable {
    let rows: Int
    let columns: Int
    let bits: Int
    /// Reads the codes: unsigned, row-major.
    let codes: @Sendable () throws -> [UInt8]
    /// Columns of a group; the last group of a row may be smaller.
    let group: Int
    /// Row-major.
    let scales: [Float]
    /// One for each scale.
    let zeros: [Float]
    /// The scales are numbers of float16.
    let hasHalfScales: Bool

    private var shape: Shape { [rows, columns] }
    private var groups: Int { scales.count / max(rows, 1) }

    /// Returns the weight in a codec that has all its numbers, or its values.
    func weight() -> QuantizedWeight {
        guard let size = Self.blocks.last(where: { group % $0 == 0 }) ?? (groups == 1 ? columns : nil) else {
            return columns % group == 0 ? flat() : decoded("no scheme has groups of \(group)")
        }
        let block = groups == 1 ? "channel" : "\(size)"
        let blocks = groups == 1 ? 1 : (columns + size - 1) / size
        // A group of several blocks has its scale in each of them.
        let places = (0..<rows).flatMap { row in
            (0..<blocks).map { row * groups + (groups == 1 ? 0 : $0 * size / group) }
        }
        if bits == 4, zeros.allSatisfy({ (0...15).contains($0) && $0 == $0.rounded() }) {
            return int4(block, blocks, places)
        }
        guard let width = [2, 3, 4, 5, 6, 8].first(where: { $0 >= bits }) else { return decoded("") }
        let biases = places.map { -scales[$0] * zeros[$0] }
        guard places.indices.allSatisfy({ isExact(-biases[$0], scales[places[$0]], zeros[places[$0]]) }) else {
            return columns % group == 0 ? flat() : decoded("a zero point times its scale is no float32")
        }
        return .encoded(
            codec: "affine:bits=\(width),block=\(block),scales=float32", shape: shape
        ) {
            [
                Self.packed(try codes(), bits: width, columns), ByteView(places.map { scales[$0] }), ByteView(biases),
            ]
        }
    }

    /// Returns the codes with their zero points as they are: groups are neighbours in the flat tensor.
    private func flat() -> QuantizedWeight {
        let width = bits == 7 ? 8 : bits
        return .encoded(
            codec: "hqq:bits=\(width),group=\(group),scales=float32", shape: shape
        ) { [Self.packed(try codes(), bits: width, columns), ByteView(scales), ByteView(zeros)] }
    }

    /// Returns the weight with columns in any order: those of a group are side by side in a codec of its own.
    /// - Parameter groupOfColumn: the group of each column.
    func permuted(groupOfColumn: [Int]) -> QuantizedWeight {
        var counts = [Int](repeating: 0, count: groups)
        for group in groupOfColumn { counts[group] += 1 }
        let isRegular = counts.dropLast().allSatisfy { $0 == group } && (counts.last ?? 0) <= group
        // Groups of several sizes are padded to whole blocks, each with the scales of its group.
        let block = isRegular ? group : Self.blocks[0]
        let blocksOfGroups = counts.map { ($0 + block - 1) / block }
        var next = [Int](repeating: 0, count: groups)
        for index in 1..<max(groups, 1) { next[index] = next[index - 1] + blocksOfGroups[index - 1] * block }
        let slots = isRegular ? columns : blocksOfGroups.reduce(0, +) * block
        let order = groupOfColumn.map { group in
            defer { next[group] += 1 }
            return next[group]
        }
        let placed: @Sendable () throws -> [UInt8] = {
            let codes = try codes()
            var placed = [UInt8](repeating: 0, count: rows * slots)
            for row in 0..<rows {
                for (column, slot) in order.enumerated() { placed[row * slots + slot] = codes[row * columns + column] }
            }
            return placed
        }
        let places = (0..<rows).flatMap { row in
            counts.indices.flatMap { repeatElement(row * groups + $0, count: isRegular ? 1 : blocksOfGroups[$0]) }
        }
        let inner = GroupedCodes(
            rows: rows, columns: slots, bits: bits, codes: placed, group: block, scales: places.map { scales[$0] },
            zeros: places.map { zeros[$0] }, hasHalfScales: hasHalfScales
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

    /// Returns whether a product of two numbers was not rounded.
    private func isExact(_ product: Float, _ left: Float, _ right: Float) -> Bool {
        product.isFinite && Double(product) == Double(left) * Double(right)
    }

    private func int4(_ block: String, _ blocks: Int, _ places: [Int]) -> QuantizedWeight {
        let isSymmetric = zeros.allSatisfy { $0 == 8 }
        return .encoded(
            codec: "int4:block=\(block),mode=\(isSymmetric ? "symmetric" : "asymmetric"),"
                + "scales=\(hasHalfScales ? "float16" : "float32")", shape: shape
        ) {
            let signed = try codes().map { ($0 &- 8) & 15 }
            let stored = places.map { scales[$0] }
            var sections = [Self.packed(signed, bits: 4, columns)]
            sections.append(hasHalfScales ? ByteView(stored.map { Float16($0).bitPattern }) : ByteView(stored))
            if !isSymmetric {
                sections.append(Self.packed(places.map { (UInt8(zeros[$0]) &- 8) & 15 }, bits: 4, blocks))
            }
            return sections
        }
    }

    /// Returns codes as codecs pack them: each row from a byte on.
    static func packed(_ codes: [UInt8], bits: Int, _ columns: Int) -> ByteView {
        let perRow = (columns * bits + 7) / 8
        var bytes = [UInt8](repeating: 0, count: codes.count / max(columns, 1) * perRow)
        for (index, code) in codes.enumerated() {
            let (row, column) = index.quotientAndRemainder(dividingBy: columns)
            let (byte, shift) = (column * bits).quotientAndRemainder(dividingBy: 8)
            let value = UInt16(code) << UInt16(shift)
            bytes[row * perRow + byte] |= UInt8(truncatingIfNeeded: value)
            if value > 255 { bytes[row * perRow + byte + 1] |= UInt8(value >> 8) }
        }
        return ByteView(bytes)
    }

    /// Returns the values, in float32.
    /// - Parameter groupOfColumn: the group of each column, if columns are not in the order of groups.
    func decoded(_ reason: String, groupOfColumn: [Int]? = nil) -> QuantizedWeight {
        .decoded(shape: shape, reason: reason) {
            let codes = try codes()
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
