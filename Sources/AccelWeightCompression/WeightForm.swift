public import AccelByteIO
public import AccelTensors

/// What a stored weight consists of, whatever codec made it: for those who write it in another container.
public indirect enum WeightForm: Sendable {
    /// Plain elements of a type, row-major.
    case values(ElementType, ByteView)
    case affine(AffineForm)
    case palette(PaletteForm)
    case vectors(VectorForm)
    case sparse(SparseForm)
}

/// `scale * (code - zero)`, with a scale for each block of columns of each row, or of all rows.
public struct AffineForm: Sendable {
    public let codes: PackedCodes
    /// Two's complement; else codes from 0 on.
    public let isSigned: Bool
    /// Row-major: `scaleRows` rows of scales, which hold for as many rows of the weight together as there are too few.
    public let scales: [Float]
    /// Integers, one for each scale; nil where all are 0.
    public let zeros: [Int]?
    /// Zeros that are no integers, instead of `zeros`.
    public var offsets: [Float]?
    public let scaleRows: Int
    /// Columns that share a scale; the last block of a row may be smaller.
    public let block: Int
    /// Of the scales as they are stored.
    public let scaleType: ElementType
}

/// The entry of a table, by its number, and times the scale of its block where there are scales.
public struct PaletteForm: Sendable {
    public let codes: PackedCodes
    /// 2^bits entries each, one table for each `rowsPerTable` rows; the last may serve fewer.
    public let tables: [[Float]]
    public let rowsPerTable: Int
    public let scales: BlockScales?
    /// The tables as integers, each with a factor, where they are stored so.
    public var integers: (entries: [[Int]], scales: [Float])?
}

/// An entry of a table for each `size` neighbours of a row.
public struct VectorForm: Sendable {
    /// Of each row, as many as it has vectors.
    public let codes: PackedCodes
    /// 2^bits vectors each, one table for each `rowsPerTable` rows; the last may serve fewer.
    public let tables: [[Float]]
    public let size: Int
    public let rowsPerTable: Int
}

/// Zeros but for the weights that a mask keeps.
public struct SparseForm: Sendable {
    /// A bit for each weight.
    public let mask: PackedCodes
    /// How many weights are kept.
    public let count: Int
    /// A matrix that starts with the kept weights, row-major; what follows them says nothing.
    public let kept: WeightForm
}

/// A scale for each block of columns of each row.
public struct BlockScales: Sendable {
    /// Row-major.
    public let values: [Float]
    /// Columns that share a scale; the last block of a row may be smaller.
    public let block: Int
}

/// Integers of a few bits: rows one after the other, each from a byte boundary on, the first in the lowest bits.
public struct PackedCodes: Sendable {
    public let bits: Int
    public let bytes: ByteView
    public let rows: Int
    public let columns: Int

    /// All codes, one after the other, as they are stored (not sign-extended).
    var unpacked: [UInt8] {
        let perRow = BitPacking.byteCount(columns, bits: bits)
        return [UInt8](unsafeUninitializedCapacity: rows * columns) { codes, count in
            codes.initialize(repeating: 0)
            bytes.withBytes { source in
                guard let start = source.baseAddress else { return }
                for row in 0..<rows {
                    BitPacking.unpack(
                        (start + row * perRow).assumingMemoryBound(to: UInt8.self), bits: bits,
                        into: UnsafeMutableBufferPointer(rebasing: codes[row * columns..<(row + 1) * columns]))
                }
            }
            count = rows * columns
        }
    }

    /// The same codes in more bits each.
    public func widened(to bits: Int) -> PackedCodes {
        if bits == self.bits { return self }
        let perRow = BitPacking.byteCount(columns, bits: bits)
        let target = ByteBuffer(count: rows * perRow)
        unpacked.withUnsafeBufferPointer { codes in
            guard let start = target.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            for row in 0..<rows {
                BitPacking.pack(
                    UnsafeBufferPointer(rebasing: codes[row * columns..<(row + 1) * columns]), bits: bits,
                    into: start + row * perRow)
            }
        }
        return PackedCodes(bits: bits, bytes: ByteView(target), rows: rows, columns: columns)
    }

    /// The first `count` codes as one stream of bits; the bits after the last are zero.
    public func stream(first count: Int) -> ByteView {
        let whole = stream
        let length = min(BitPacking.byteCount(count, bits: bits), whole.count)
        let target = ByteBuffer(count: length)
        whole.withBytes { target.bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<length])) }
        let used = count * bits % 8
        if used > 0, length > 0 { target.bytes[length - 1] &= UInt8(1 << used) - 1 }
        return ByteView(target)
    }

    /// All codes as one stream of bits, rows not padded.
    public var stream: ByteView {
        if columns * bits % 8 == 0 { return bytes }
        let target = ByteBuffer(count: BitPacking.byteCount(rows * columns, bits: bits))
        unpacked.withUnsafeBufferPointer { codes in
            guard let start = target.bytes.baseAddress else { return }
            BitPacking.pack(codes, bits: bits, into: start.assumingMemoryBound(to: UInt8.self))
        }
        return ByteView(target)
    }
}

extension CompressedTensor {
    /// What it consists of; nil for a codec whose weights no other container can hold.
    public var form: WeightForm? { codec.form(of: self) }
}

extension WeightCodec {
    public func form(of weight: CompressedTensor) -> WeightForm? { nil }
}

extension StoredCodec {
    public func form(of weight: CompressedTensor) -> WeightForm? { .values(weight.elementType, weight.sections[0]) }
}

extension FloatCodec {
    public func form(of weight: CompressedTensor) -> WeightForm? { .values(Self.storedType, weight.sections[0]) }
}

extension Int8Codec {
    public func form(of weight: CompressedTensor) -> WeightForm? {
        .affine(
            AffineForm(
                weight, bits: 8, scaleRows: isPerChannel ? weight.shape.rows : 1, block: weight.shape.columns,
                scaleType: ScaleType(rawValue: values["scales"]) ?? .float32, hasZeros: !isSymmetric))
    }
}

extension Int4Codec {
    public func form(of weight: CompressedTensor) -> WeightForm? {
        .affine(
            AffineForm(
                weight, bits: 4, scaleRows: weight.shape.rows, block: blockSize(weight.shape),
                scaleType: ScaleType(rawValue: values["scales"]) ?? .float16, hasZeros: !isSymmetric))
    }
}

extension AffineForm {
    /// Of a weight with the sections `codes`, `scales`, and `zeros` packed like codes.
    fileprivate init(
        _ weight: CompressedTensor, bits: Int, scaleRows: Int, block: Int, scaleType: ScaleType, hasZeros: Bool
    ) {
        let (rows, columns) = (weight.shape.rows, weight.shape.columns)
        let blocks = block == 0 ? 0 : (columns + block - 1) / block
        codes = PackedCodes(bits: bits, bytes: weight.sections[0], rows: rows, columns: columns)
        isSigned = true
        scales = weight.sections[1].withBytes { bytes in (0..<scaleRows * blocks).map { scaleType.load(bytes, at: $0) }
        }
        zeros =
            hasZeros
            ? PackedCodes(bits: bits, bytes: weight.sections[2], rows: scaleRows, columns: blocks).unpacked
                .map { Int($0) >= 1 << (bits - 1) ? Int($0) - 1 << bits : Int($0) } : nil
        self.scaleRows = scaleRows
        self.block = block
        self.scaleType = scaleType == .float16 ? .float16 : .float32
    }
}

extension PaletteCodec {
    public func form(of weight: CompressedTensor) -> WeightForm? {
        let shape = weight.shape
        let tables = units(shape: shape).indices.map { entries(of: weight, group: $0) }
        let scales: [Float]? =
            hasScales
            ? weight.sections[2].withBytes { bytes in
                (0..<shape.rows).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
            } : nil
        return .palette(
            PaletteForm(
                codes: PackedCodes(bits: bits, bytes: weight.sections[0], rows: shape.rows, columns: shape.columns),
                tables: tables, rowsPerTable: group ?? max(shape.rows, 1),
                scales: scales.map { BlockScales(values: $0, block: max(shape.columns, 1)) },
                integers: entryType == .int8 ? integers(of: weight) : nil))
    }

    private func integers(of weight: CompressedTensor) -> (entries: [[Int]], scales: [Float]) {
        let perTable = 4 + size
        return weight.sections[1].withBytes { section in
            let starts = units(shape: weight.shape).indices.map { $0 * perTable }
            let entries = starts.map { start in
                (0..<size).map { Int(section.loadUnaligned(fromByteOffset: start + 4 + $0, as: Int8.self)) }
            }
            return (entries, starts.map { section.loadUnaligned(fromByteOffset: $0, as: Float.self) })
        }
    }
}
