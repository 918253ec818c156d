import AccelByteIO
import AccelWeightCompression

/// Lowers palettes to Core ML's `constexpr` operations.
extension WeightLowering {
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

    /// For iOS 16 and 17: one table for the tensor.
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
        place.form = "constexpr_lut_to_dense"
        place.byteCount = Self.byteCount([indices, table])
        return builder.decompress(
            place.form, place.name, MILTensorType(place.type, place.extents),
            attributes: [
                MILNamed("indices", indices), MILNamed("lut", table),
                MILNamed("shape", place.shapeValue),
            ])
    }

    /// For iOS 18: tables for groups of rows, and scales of rows in a second operation.
    private mutating func grouped(
        _ form: PaletteForm, _ type: MILDataType, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        let lut = try lookUp(form.groups(of: place.rows), form, &place, in: &builder)
        let indices = try stream(form.codes, "\(place.name) codes", type, place.extents)
        let grid = try form.scales.map { try ScaleGrid(place, rows: place.rows, block: $0.block) }
        let scales = form.scales.flatMap { scales in grid?.cut(scales.values) }
        place.form = "constexpr_lut_to_dense"
        place.byteCount += Self.byteCount([indices])
        let dense = builder.decompress(
            place.form, scales == nil ? place.name : "\(place.name)_unscaled",
            MILTensorType(place.type, place.extents),
            inputs: [MILNamed("indices", [.value(indices)]), MILNamed("lut", [lut])])
        guard let grid, let scales else { return dense }
        let factors = try numbers("\(place.name) scales", place.type, scales, grid.extents)
        place.byteCount += Self.byteCount([factors])
        return builder.decompress(
            "constexpr_blockwise_shift_scale", place.name, MILTensorType(place.type, place.extents),
            inputs: [MILNamed("data", [.name(dense.name)]), MILNamed("scale", [.value(factors)])])
    }

    /// Appends the lookup in tables of groups of rows, [groups, 1, ..., entries, 1]. Tables of integers with a scale are
    /// decompressed first.
    mutating func lookUp(
        _ groups: [Int], _ form: PaletteForm, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILBinding {
        let ones = place.extents.dropFirst().map { _ in 1 }
        let extents = [groups.count] + ones + [1 << form.codes.bits, 1]
        guard let integers = form.integers else {
            let table = try numbers("\(place.name) table", place.type, groups.flatMap { form.tables[$0] }, extents)
            place.byteCount += Self.byteCount([table])
            return .value(table)
        }
        let entries = try codes("\(place.name) entries", .int8, groups.flatMap { integers.entries[$0] }, extents)
        let scales = try numbers(
            "\(place.name) table scales", place.type, groups.map { integers.scales[$0] },
            [groups.count] + ones + [1, 1])
        place.byteCount += Self.byteCount([entries, scales])
        let table = builder.decompress(
            "constexpr_blockwise_shift_scale", "\(place.name)_table", MILTensorType(place.type, extents),
            inputs: [MILNamed("data", [.value(entries)]), MILNamed("scale", [.value(scales)])])
        return .name(table.name)
    }

    /// For iOS 18: vector codes for neighbours along the last axis of more than one element.
    mutating func vectors(
        _ form: VectorForm, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard options.target >= .iOS18 else {
            throw FormGap(reason: "tables of vectors need iOS 18", alternative: "use --target iOS18, or palette:bits=4")
        }
        let axis = place.extents.lastIndex { $0 > 1 } ?? 0
        guard let type = MILDataType(codeBits: form.codes.bits), axis > 0, place.extents[axis] % form.size == 0 else {
            throw FormGap(
                reason: "vectors of \(form.size) do not divide the last axis of \(place.extents)",
                alternative: "use a palette for it")
        }
        var extents = place.extents
        extents[axis] /= form.size
        let groups = PaletteForm.groups(of: place.rows, tables: form.tables.count, rowsPerTable: form.rowsPerTable)
        let indices = try stream(form.codes, "\(place.name) codes", type, extents)
        let table = try numbers(
            "\(place.name) table", place.type, groups.flatMap { form.tables[$0] },
            [groups.count] + extents.dropFirst().map { _ in 1 } + [1 << form.codes.bits, form.size])
        place.form = "constexpr_lut_to_dense"
        place.byteCount = Self.byteCount([indices, table])
        return builder.decompress(
            place.form, place.name, MILTensorType(place.type, place.extents),
            inputs: [
                MILNamed("indices", [.value(indices)]), MILNamed("lut", [.value(table)]),
                MILNamed("vector_axis", [.value(MILValue(axis))]),
            ])
    }
}

extension PaletteForm {
    /// Returns the tables for groups of equal size; the last group of a scheme may be smaller.
    func groups(of rows: Int) -> [Int] {
        Self.groups(of: rows, tables: tables.count, rowsPerTable: rowsPerTable)
    }

    static func groups(of rows: Int, tables: Int, rowsPerTable: Int) -> [Int] {
        let size = tables == 1 ? rows : greatestCommonDivisor(rows, rowsPerTable)
        return (0..<rows / max(size, 1)).map { tables == 1 ? 0 : $0 * size / rowsPerTable }
    }
}
