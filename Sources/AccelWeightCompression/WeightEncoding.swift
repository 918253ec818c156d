public import AccelByteIO
public import AccelTensors

/// The parts of an encoded weight, independent of the codec: the input of exporters to other formats.
public indirect enum WeightEncoding: Sendable {
    /// Unencoded elements of one type, row-major.
    case values(ElementType, ByteView)
    /// Integer codes with scales and zero points.
    case affine(AffineEncoding)
    /// Indices into tables of values.
    case palette(PaletteEncoding)
    /// Indices into tables of vectors.
    case vectors(VectorEncoding)
    /// A mask with the encoding of the kept weights.
    case sparse(SparseEncoding)
}

/// `scale * (code - zero)`, with one scale for each block of columns of each row, or of all rows.
public struct AffineEncoding: Sendable {
    /// The codes of all weights.
    public let codes: PackedCodes
    /// Codes are two's complement; if false, they start at 0.
    public let isSigned: Bool
    /// The scales, row-major with `scaleRows` rows. If there are fewer scale rows than weight rows, several rows share
    /// one.
    public let scales: [Float]
    /// The integer zero points, one per scale; nil if all are 0.
    public let zeros: [Int]?
    /// Zero points that are not integers, instead of `zeros`; nil if there are none.
    public var offsets: [Float]?
    /// The number of rows of scales.
    public let scaleRows: Int
    /// The number of columns that share a scale; the last block of a row may be smaller.
    public let block: Int
    /// The element type in which the scales are stored.
    public let scaleType: ElementType
}

/// Entries of tables by index, times the scale of their block if there are scales.
public struct PaletteEncoding: Sendable {
    /// The indices of all weights.
    public let codes: PackedCodes
    /// The tables, of 2^bits entries each: one per `rowsPerTable` rows; the last may serve fewer.
    public let tables: [[Float]]
    /// The number of rows that share a table.
    public let rowsPerTable: Int
    /// Factors of the entries; nil if there are none.
    public let scales: BlockScales?
    /// The tables as integers, each with a factor, if they are stored as integers; else nil.
    public var integers: (entries: [[Int]], scales: [Float])?
}

/// Entries of tables of vectors; each stands for `size` neighbours of a row.
public struct VectorEncoding: Sendable {
    /// The indices; each row has one per vector.
    public let codes: PackedCodes
    /// The tables, of 2^bits vectors each: one per `rowsPerTable` rows; the last may serve fewer.
    public let tables: [[Float]]
    /// The number of weights per vector.
    public let size: Int
    /// The number of rows that share a table.
    public let rowsPerTable: Int
}

/// Weights of which a mask keeps some; the others are zero.
public struct SparseEncoding: Sendable {
    /// One bit per weight: 1 if it is kept.
    public let mask: PackedCodes
    /// The number of kept weights.
    public let count: Int
    /// A matrix that starts with the kept weights, row-major; the elements after them are padding.
    public let kept: WeightEncoding
}

/// Scales of blocks of columns in each row.
public struct BlockScales: Sendable {
    /// The scales, row-major.
    public let values: [Float]
    /// The number of columns that share a scale; the last block of a row may be smaller.
    public let block: Int
}

/// Integers of a few bits. Each row starts at a byte boundary; the first code is in the lowest bits.
public struct PackedCodes: Sendable {
    /// The bits per code.
    public let bits: Int
    /// The packed codes.
    public let bytes: ByteView
    /// The number of rows.
    public let rows: Int
    /// The number of codes per row.
    public let columns: Int

    /// All codes, row-major, without sign extension.
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

    /// Returns the same codes with more bits each.
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

    /// Returns the first `count` codes as one bit stream; the bits after the last are zero.
    public func stream(first count: Int) -> ByteView {
        let whole = stream
        let length = min(BitPacking.byteCount(count, bits: bits), whole.count)
        let target = ByteBuffer(count: length)
        whole.withBytes { target.bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<length])) }
        let used = count * bits % 8
        if used > 0, length > 0 { target.bytes[length - 1] &= UInt8(1 << used) - 1 }
        return ByteView(target)
    }

    /// All codes as one bit stream, without padding between rows.
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
    /// The parts of the encoding; nil if no other format can hold the weights of this codec.
    public var encoding: WeightEncoding? { codec.encoding(of: self) }
}

extension WeightCodec {
    public func encoding(of weight: CompressedTensor) -> WeightEncoding? { nil }
}

extension StoredCodec {
    public func encoding(of weight: CompressedTensor) -> WeightEncoding? {
        .values(weight.elementType, weight.sections[0])
    }
}

extension FloatCodec {
    public func encoding(of weight: CompressedTensor) -> WeightEncoding? {
        .values(Self.storedType, weight.sections[0])
    }
}

extension Int8Codec {
    public func encoding(of weight: CompressedTensor) -> WeightEncoding? {
        .affine(
            AffineEncoding(
                weight, bits: 8, scaleRows: isPerChannel ? weight.shape.rows : 1, block: weight.shape.columns,
                scaleType: ScaleType(rawValue: values["scales"]) ?? .float32, hasZeros: !isSymmetric))
    }
}

extension Int4Codec {
    public func encoding(of weight: CompressedTensor) -> WeightEncoding? {
        .affine(
            AffineEncoding(
                weight, bits: 4, scaleRows: weight.shape.rows, block: blockSize(weight.shape),
                scaleType: ScaleType(rawValue: values["scales"]) ?? .float16, hasZeros: !isSymmetric))
    }
}

extension AffineEncoding {
    /// Creates the parts of a weight with the sections `codes`, `scales`, and optionally `zeros` packed like codes.
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
    public func encoding(of weight: CompressedTensor) -> WeightEncoding? {
        let shape = weight.shape
        let tables = units(shape: shape).indices.map { entries(of: weight, group: $0) }
        let scales: [Float]? =
            hasScales
            ? weight.sections[2].withBytes { bytes in
                (0..<shape.rows).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
            } : nil
        return .palette(
            PaletteEncoding(
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
