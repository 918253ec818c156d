import ByteIO
import WeightCompression

/// Stored forms as Core ML's `constexpr` operations.
extension WeightLowering {
    mutating func affine(
        _ form: AffineForm, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        options.target >= .iOS18
            ? try blockwise(form, &place, in: &builder) : try perChannel(form, &place, in: &builder)
    }

    /// iOS 16 and 17: eight bits, a scale for the tensor or for each row.
    private mutating func perChannel(
        _ form: AffineForm, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard form.codes.bits == 8, form.block >= place.columns else {
            throw FormGap(
                reason: "\(form.codes.bits)-bit blocks need iOS 18",
                alternative: "use --target iOS18, int8, or palette:bits=4")
        }
        let isWhole = form.scaleRows == 1
        let scales = try numbers(
            "\(place.name) scales", place.type, form.scales, isWhole ? [] : [form.scaleRows])
        let zeros = try codes(
            "\(place.name) zeros", .int8, form.zeros ?? form.scales.map { _ in 0 }, isWhole ? [] : [form.scaleRows])
        let data = try stream(form.codes, "\(place.name) codes", .int8, place.extents)
        place.form = "constexpr_affine_dequantize"
        place.byteCount =
            form.codes.bytes.count + form.scales.count * (place.type.bits ?? 32) / 8
            + (form.zeros?.count ?? 0)
        return builder.decompress(
            place.form, place.name, MILTensorType(place.type, place.extents),
            attributes: [
                MILNamed("axis", MILValue(0)), MILNamed("quantized_data", data), MILNamed("scale", scales),
                MILNamed("zero_point", zeros),
            ])
    }

    /// iOS 18: blocks along the columns.
    private mutating func blockwise(
        _ form: AffineForm, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        let grid = try ScaleGrid(place, rows: form.scaleRows, block: form.block)
        let (scales, zeros) = (grid.cut(form.scales), form.zeros.map(grid.cut))
        let type: MILDataType = form.codes.bits == 4 ? .int4 : .int8
        var inputs = [
            MILNamed("data", [MILBinding.value(try stream(form.codes, "\(place.name) codes", type, place.extents))]),
            MILNamed("scale", [.value(try numbers("\(place.name) scales", place.type, scales, grid.extents))]),
        ]
        if let zeros {
            inputs.append(MILNamed("offset", [.value(try codes("\(place.name) zeros", type, zeros, grid.extents))]))
        }
        place.form = "constexpr_blockwise_shift_scale"
        place.byteCount =
            (place.rows * place.columns * form.codes.bits + 7) / 8 + scales.count * (place.type.bits ?? 32) / 8
            + (zeros?.count ?? 0) * form.codes.bits / 8
        return builder.decompress(place.form, place.name, MILTensorType(place.type, place.extents), inputs: inputs)
    }

    mutating func palette(
        _ form: PaletteForm, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard let type = MILDataType(codeBits: form.codes.bits) else {
            throw FormGap(
                reason: "there are no \(form.codes.bits)-bit codes", alternative: "use 1, 2, 3, 4, 6 or 8 bits")
        }
        return options.target >= .iOS18
            ? try grouped(form, type, &place, in: &builder) : try oneTable(form, &place, in: &builder)
    }

    /// iOS 16 and 17: one table for the tensor.
    private mutating func oneTable(
        _ form: PaletteForm, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard form.codes.bits != 3 else {
            throw FormGap(reason: "3-bit codes need iOS 18", alternative: "use --target iOS18, or 2 or 4 bits")
        }
        guard form.tables.count == 1, form.scales == nil else {
            throw FormGap(
                reason: "\(form.scales == nil ? "a table for each group" : "scales beside a table") need iOS 18",
                alternative: "use --target iOS18, or one table for the tensor without scales")
        }
        let bytes = form.codes.stream
        let indices = try value("\(place.name) codes", .uint8, [bytes.count]) { bytes }()
        let table = try numbers("\(place.name) table", place.type, form.tables[0], [form.tables[0].count])
        let extents = place.extents.flatMap { extent in
            (0..<4).map { UInt8(truncatingIfNeeded: UInt32(extent) >> UInt32($0 * 8)) }
        }
        place.form = "constexpr_lut_to_dense"
        place.byteCount = bytes.count + form.tables[0].count * (place.type.bits ?? 32) / 8
        return builder.decompress(
            place.form, place.name, MILTensorType(place.type, place.extents),
            attributes: [
                MILNamed("indices", indices), MILNamed("lut", table),
                MILNamed("shape", MILValue(MILTensorType(.uint32, [place.extents.count]), .bytes(extents))),
            ])
    }

    /// iOS 18: tables for groups of rows, and scales of rows in a second operation.
    private mutating func grouped(
        _ form: PaletteForm, _ type: MILDataType, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        // A last group that is smaller: all groups are cut so that they are of one size.
        let size = form.tables.count == 1 ? place.rows : greatestCommonDivisor(place.rows, form.rowsPerTable)
        let groups = place.rows / max(size, 1)
        let entries = (0..<groups).flatMap { form.tables[$0 * size / form.rowsPerTable] }
        let ones = place.extents.dropFirst().map { _ in 1 }
        let table = try numbers(
            "\(place.name) table", place.type, entries, [groups] + ones + [1 << form.codes.bits, 1])
        let indices = try stream(form.codes, "\(place.name) codes", type, place.extents)
        let grid = try form.scales.map { try ScaleGrid(place, rows: place.rows, block: $0.block) }
        let scales = form.scales.flatMap { scales in grid?.cut(scales.values) }
        place.form = "constexpr_lut_to_dense"
        place.byteCount =
            (place.rows * place.columns * form.codes.bits + 7) / 8
            + (entries.count + (scales?.count ?? 0)) * (place.type.bits ?? 32) / 8
        let dense = builder.decompress(
            place.form, scales == nil ? place.name : "\(place.name)_unscaled",
            MILTensorType(place.type, place.extents),
            inputs: [MILNamed("indices", [.value(indices)]), MILNamed("lut", [.value(table)])])
        guard let grid, let scales else { return dense }
        let factors = try numbers("\(place.name) scales", place.type, scales, grid.extents)
        return builder.decompress(
            "constexpr_blockwise_shift_scale", place.name, MILTensorType(place.type, place.extents),
            inputs: [MILNamed("data", [.name(dense.name)]), MILNamed("scale", [.value(factors)])])
    }

    /// Codes in the order of the elements.
    private mutating func stream(
        _ codes: PackedCodes, _ key: String, _ type: MILDataType, _ extents: [Int]
    ) throws -> MILValue {
        try value(key, type, extents) { codes.stream }()
    }

    private mutating func numbers(
        _ key: String, _ type: MILDataType, _ floats: [Float], _ extents: [Int]
    ) throws -> MILValue {
        if type == .float16, let bad = floats.firstIndex(where: { abs($0) > 65504 }) {
            throw FormGap(
                reason: "\(key) holds \(floats[bad]), too large for float16", alternative: "use --precision float32")
        }
        return try value(key, type, extents) { type == .float16 ? ByteView(floats.halfBytes) : ByteView(floats) }()
    }

    /// Integers of four or eight bits.
    private mutating func codes(
        _ key: String, _ type: MILDataType, _ integers: [Int], _ extents: [Int]
    ) throws -> MILValue {
        try value(key, type, extents) {
            let bytes = integers.map { UInt8(truncatingIfNeeded: $0) }
            guard type.bits == 4 else { return ByteView(bytes) }
            return ByteView(
                stride(from: 0, to: bytes.count, by: 2).map { index in
                    bytes[index] & 15 | (index + 1 < bytes.count ? bytes[index + 1] << 4 : 0)
                })
        }()
    }
}

/// Scales as Core ML has them: blocks of one size along one axis.
private struct ScaleGrid {
    let extents: [Int]
    private let rows: Int
    private let blocks: Int
    private let blocksPerRow: Int
    private let ratio: (size: Int, block: Int)

    init(_ place: WeightPlace, rows: Int, block: Int) throws {
        guard block >= place.columns || place.extents.dropFirst(2).allSatisfy({ $0 == 1 }) else {
            throw FormGap(
                reason: "blocks that run over several axes of \(place.extents) are no blocks of Core ML's",
                alternative: "use int8 or a palette for it")
        }
        // A last block that is smaller: all blocks are cut so that they are of one size.
        let size = block >= place.columns ? max(place.columns, 1) : greatestCommonDivisor(place.columns, block)
        self.rows = rows
        blocks = place.columns / size
        blocksPerRow = max((place.columns + block - 1) / max(block, 1), 1)
        ratio = (size, block)
        extents = Array(([rows, blocks] + place.extents.dropFirst(2).map { _ in 1 }).prefix(place.extents.count))
    }

    func cut<Element>(_ values: [Element]) -> [Element] {
        (0..<rows).flatMap { row in
            (0..<blocks).map { values[row * blocksPerRow + $0 * ratio.size / max(ratio.block, 1)] }
        }
    }
}

func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int { b == 0 ? a : greatestCommonDivisor(b, a % b) }
