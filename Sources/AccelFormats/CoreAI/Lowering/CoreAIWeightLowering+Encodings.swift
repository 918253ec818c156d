import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// The operations for each kind of encoding.
extension CoreAIWeightLowering {
    /// Integers with scales, and zero points or minima.
    mutating func affine(_ encoding: AffineEncoding) throws -> CoreAIValue {
        let grid = try ScaleGrid(shape, rows: encoding.scaleRows, block: encoding.block)
        let scale = try numbers("scales", grid.cut(encoding.scales), grid.sizes)
        let data = try integers(encoding)
        var (zero, minimum): (CoreAIValue?, CoreAIValue?)
        if let zeros = encoding.zeros {
            let zeros = grid.cut(zeros)
            zero =
                data.element.isFloatingPoint
                ? try numbers("zeros", zeros.map { Float($0) }, grid.sizes, as: data.element)
                : try codes("zeros", zeros, grid.sizes, data.element)
        } else if let offsets = encoding.offsets {
            let least = zip(grid.cut(encoding.scales), grid.cut(offsets)).map { -($0 * $1) }
            let rounded = encoding.scaleType == .float16 ? least.map { Half.value(Half.bits($0)) } : least
            minimum = try numbers("minima", rounded, grid.sizes, as: scale.element)
        }
        return scaled(data, by: scale, zero: zero, minimum: minimum)
    }

    /// Codes in an integer type; those of 3, 5 and 6 bits are looked up, because no type of such integers has scales.
    private mutating func integers(_ encoding: AffineEncoding) throws -> CoreAIValue {
        let native: CoreAIElement? =
            switch (encoding.isSigned, encoding.codes.bits) {
            case (true, 2): .int2
            case (true, 4): .int4
            case (true, 8): .int8
            case (false, 2): .uint2
            case (false, 4): .uint4
            case (false, 8): .uint8
            default: nil
            }
        if let native { return try stored("codes", encoding.codes.stream, shape, native) }
        let bits = encoding.codes.bits <= 3 ? 3 : 6
        guard encoding.codes.bits <= bits, let element = CoreAIElement(codeBits: bits) else {
            throw LoweringGap(
                reason: "there are no \(encoding.codes.bits)-bit codes", candidates: ["int4", "int8"])
        }
        let codes = try stored("codes", encoding.codes.widened(to: bits).stream, shape, element)
        let entries = (0..<1 << bits).map { (code: Int) -> Float in
            Float(encoding.isSigned && code >= 1 << (encoding.codes.bits - 1) ? code - 1 << encoding.codes.bits : code)
        }
        let table = try numbers("integers", entries, shape.map { _ in 1 } + [1 << bits, 1])
        return lookedUp(codes, in: table)
    }

    /// 8-bit floating-point numbers with scales.
    mutating func bytes(
        of weight: CompressedTensor, _ codes: BlockScaledCodes, _ element: CoreAIElement
    ) throws -> CoreAIValue {
        guard case .palette(let palette)? = weight.encoding, let scales = palette.scales else {
            throw LoweringGap(reason: "its scales are unknown", candidates: ["int8"])
        }
        // Rows that share a scale stay together where they divide the weight.
        let shared = codes.rowsPerScale > 1 && rows % codes.rowsPerScale == 0 ? codes.rowsPerScale : 1
        let perRow = scales.values.count / max(rows, 1)
        let values = stride(from: 0, to: rows, by: shared).flatMap { row in
            scales.values[row * perRow..<(row + 1) * perRow]
        }
        let grid = try ScaleGrid(shape, rows: rows / shared, block: scales.block)
        let data = try stored("codes", weight.sections[0], shape, element)
        return scaled(data, by: try numbers("scales", grid.cut(values), grid.sizes))
    }

    /// Tables for groups of rows, with scales of entries or of blocks.
    mutating func palette(_ encoding: PaletteEncoding) throws -> CoreAIValue {
        guard let element = CoreAIElement(codeBits: encoding.codes.bits) else {
            throw LoweringGap(
                reason: "there are no \(encoding.codes.bits)-bit codes",
                candidates: ["palette:bits=4", "palette:bits=6", "palette:bits=8"])
        }
        let groups = encoding.groups(of: rows)
        let codes = try stored("codes", encoding.codes.stream, shape, element)
        var dense = lookedUp(codes, in: try table(of: encoding, groups))
        if let integers = encoding.integers {
            let sizes = [groups.count] + shape.dropFirst().map { _ in 1 }
            dense = scaled(dense, by: try numbers("table scales", groups.map { integers.scales[$0] }, sizes))
        }
        guard let scales = encoding.scales else { return dense }
        let grid = try ScaleGrid(shape, rows: rows, block: scales.block)
        let factors = try numbers("scales", grid.cut(scales.values), grid.sizes)
        // Both operands have one type.
        let common: CoreAIElement = dense.element == factors.element ? dense.element : .float32
        return scaled(builder.cast(dense, to: common), by: builder.cast(factors, to: common))
    }

    private mutating func table(of encoding: PaletteEncoding, _ groups: [Int]) throws -> CoreAIValue {
        let sizes = [groups.count] + shape.dropFirst().map { _ in 1 } + [1 << encoding.codes.bits, 1]
        if let integers = encoding.integers {
            return try codes("entries", groups.flatMap { integers.entries[$0] }, sizes, .int8)
        }
        return try numbers("table", groups.flatMap { encoding.tables[$0] }, sizes)
    }

    /// Codes for neighbours along the last axis of more than one element.
    mutating func vectors(_ encoding: VectorEncoding) throws -> CoreAIValue {
        let axis = shape.lastIndex { $0 > 1 } ?? 0
        guard let element = CoreAIElement(codeBits: encoding.codes.bits), axis > 0, shape[axis] % encoding.size == 0
        else {
            throw LoweringGap(
                reason: "vectors of \(encoding.size) do not divide the last axis of \(shape)",
                candidates: ["palette"])
        }
        var sizes = shape
        sizes[axis] /= encoding.size
        let groups = PaletteEncoding.groups(
            of: rows, tables: encoding.tables.count, rowsPerTable: encoding.rowsPerTable)
        let codes = try stored("codes", encoding.codes.stream, sizes, element)
        let table = try numbers(
            "table", groups.flatMap { encoding.tables[$0] },
            [groups.count] + sizes.dropFirst().map { _ in 1 } + [1 << encoding.codes.bits, encoding.size])
        return lookedUp(codes, in: table, axis: axis)
    }

    /// Weights of which a mask keeps some.
    mutating func sparse(_ encoding: SparseEncoding) throws -> CoreAIValue {
        guard Self.supports(encoding.kept) else { throw Self.gap }
        guard encoding.count > 0 else { return builder.number(0, shape) }
        let bits = encoding.mask.stream
        let ones = bits.withBytes { $0.reduce(0) { $0 + $1.nonzeroBitCount } }
        // The runtime ends if the numbers differ.
        guard ones == encoding.count else {
            throw RequestError(
                "weight \(quoted(name)): its mask keeps \(ones) weights, and \(encoding.count) are stored",
                status: .internalFailure)
        }
        let mask = try stored("mask", bits, shape, .uint1)
        switch encoding.kept {
        case .values(let type, let bytes):
            let tensor = StoredTensor(
                name: name, elementType: type, shape: [encoding.count],
                bytes: bytes[0..<encoding.count * type.byteCount])
            let stored: ElementType = type == .float16 || floatType == .float16 ? .float16 : .float32
            let values = try self.stored("kept", tensor.bytes(as: stored), [encoding.count], CoreAIElement(stored))
            return builder.cast(kept(values, mask), to: floatType)
        case .palette(let palette):
            guard let element = CoreAIElement(codeBits: palette.codes.bits) else { throw Self.gap }
            let codes = try stored(
                "codes", palette.codes.stream(first: encoding.count), [encoding.count], element)
            let dense = kept(codes, mask, table: try table(of: palette, [0]))
            guard let integers = palette.integers else { return dense }
            return scaled(dense, by: try numbers("table scales", [integers.scales[0]], shape.map { _ in 1 }))
        case .affine(let affine):
            let codes = try stored(
                "codes", affine.codes.stream(first: encoding.count), [encoding.count],
                affine.codes.bits == 4 ? .int4 : .int8)
            return scaled(kept(codes, mask), by: try numbers("scales", affine.scales, shape.map { _ in 1 }))
        default:
            throw Self.gap
        }
    }

    /// Whether kept weights can be spread by a mask: plain numbers, one table, or integers with one scale and no zero point.
    private static func supports(_ kept: WeightEncoding) -> Bool {
        switch kept {
        case .values: true
        case .palette(let palette): palette.tables.count == 1 && palette.scales == nil
        case .affine(let affine):
            affine.scales.count == 1 && affine.offsets == nil && affine.zeros?.first ?? 0 == 0
                && [4, 8].contains(affine.codes.bits)
        case .vectors, .sparse: false
        }
    }

    private static let gap = LoweringGap(
        reason: "kept weights with several scales, tables or a zero point have no operation",
        candidates: ["sparse+float16", "sparse+int8:axis=tensor", "sparse+palette"])
}
