import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Writes parts of storage schemes as constants of a program.
extension WeightLowering {
    /// Writes codes in the order of the elements.
    mutating func stream(
        _ codes: PackedCodes, _ key: String, _ type: MILDataType, _ sizes: [Int]
    ) throws -> MILValue {
        try value(key, type, sizes) { codes.stream }()
    }

    mutating func numbers(
        _ key: String, _ type: MILDataType, _ floats: [Float], _ sizes: [Int]
    ) throws -> MILValue {
        if type == .float16, let bad = floats.firstIndex(where: { abs($0) > 65504 }) {
            throw LoweringGap(
                reason: "\(key) holds \(floats[bad]), too large for float16",
                candidates: [CoreMLExporter.precision.candidate("float32")])
        }
        return try value(key, type, sizes) { type == .float16 ? ByteView(floats.halfBytes) : ByteView(floats) }()
    }

    /// Writes integers of four or eight bits.
    mutating func codes(
        _ key: String, _ type: MILDataType, _ integers: [Int], _ sizes: [Int]
    ) throws -> MILValue {
        try value(key, type, sizes) {
            let bytes = integers.map { UInt8(truncatingIfNeeded: $0) }
            guard type.bits == 4 else { return ByteView(bytes) }
            return ByteView(
                stride(from: 0, to: bytes.count, by: 2).map { (index: Int) -> UInt8 in
                    bytes[index] & 15 | (index + 1 < bytes.count ? bytes[index + 1] << 4 : 0)
                })
        }()
    }

    /// Returns the bytes of the values' elements in a file.
    static func byteCount(_ values: [MILValue]) -> Int {
        values.reduce(0) { sum, value in
            sum + ((value.type.sizes ?? []).reduce(1, *) * (value.type.dataType.bits ?? 8) + 7) / 8
        }
    }
}

/// Converts scales for runs of the columns of a row to scales for a grid of equal blocks, as Core ML and Core AI have them.
struct ScaleGrid {
    let sizes: [Int]
    private let rows: Int
    private let block: Int
    private let blocksPerRow: Int
    /// The first column of each block of a row.
    private let starts: [Int]

    init(_ lowered: LoweredWeight, rows: Int, block: Int) throws {
        try self.init(lowered.sizes, rows: rows, block: block)
    }

    /// - Throws: `LoweringGap` for runs that end within an axis in too many ways.
    init(_ weightSizes: [Int], rows: Int, block: Int) throws {
        let own = Array(weightSizes.dropFirst())
        let columns = own.reduce(1, *)
        var counts = own.map { _ in 1 }
        // From the last axis on, a run covers whole axes, then a part of one. A run that ends within an axis, and a
        // smaller last run, are cut so that all blocks have one size.
        var run = min(block, max(columns, 1))
        var axis = own.count - 1
        while axis >= 0, run % max(own[axis], 1) == 0 {
            run /= max(own[axis], 1)
            axis -= 1
        }
        if axis >= 0 {
            counts[axis] = own[axis] / greatestCommonDivisor(own[axis], run)
            for outer in 0..<axis { counts[outer] = own[outer] }
        }
        self.rows = rows
        self.block = max(block, 1)
        blocksPerRow = max((columns + block - 1) / max(block, 1), 1)
        sizes = Array(([rows] + counts).prefix(weightSizes.count))
        let strides = Shape(own).strides
        let blockSizes = zip(own, counts).map { $0 / max($1, 1) }
        starts = counts.indices.reduce([0]) { starts, axis in
            starts.flatMap { start in (0..<counts[axis]).map { start + $0 * blockSizes[axis] * strides[axis] } }
        }
        guard starts.count <= 8 * blocksPerRow else {
            throw LoweringGap(
                reason: "blocks of \(block) that run over several axes of \(weightSizes) are no blocks of equal size",
                candidates: ["int8", "palette"])
        }
    }

    func cut<Element>(_ values: [Element]) -> [Element] {
        (0..<rows).flatMap { row in starts.map { values[row * blocksPerRow + $0 / block] } }
    }
}

func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int { b == 0 ? a : greatestCommonDivisor(b, a % b) }
