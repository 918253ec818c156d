import AccelByteIO
import AccelWeightCompression

/// Lowers palettes to Core ML's `constexpr` operations.
extension WeightLowering {
    mutating func palette(
        _ encoding: PaletteEncoding, _ lowered: inout LoweredWeight, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard let type = MILDataType(codeBits: encoding.codes.bits) else {
            throw LoweringGap(
                reason: "there are no \(encoding.codes.bits)-bit codes",
                candidates: ["palette:bits=4", "palette:bits=6", "palette:bits=8"])
        }
        return options.target >= .iOS18
            ? try grouped(encoding, type, &lowered, in: &builder) : try oneTable(encoding, &lowered, in: &builder)
    }

    /// For iOS 16 and 17: one table for the tensor.
    private mutating func oneTable(
        _ encoding: PaletteEncoding, _ lowered: inout LoweredWeight, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard encoding.codes.bits != 3 else {
            throw LoweringGap(
                reason: "3-bit codes need iOS 18",
                candidates: [CoreMLExporter.target.candidate("iOS18"), "palette:bits=2", "palette:bits=4"])
        }
        guard encoding.tables.count == 1, encoding.scales == nil else {
            throw LoweringGap(
                reason: encoding.scales == nil
                    ? "a table for each group needs iOS 18" : "scales beside a table need iOS 18",
                candidates: [CoreMLExporter.target.candidate("iOS18"), "palette:bits=4"])
        }
        let bytes = encoding.codes.stream
        let indices = try value("\(lowered.name) codes", .uint8, [bytes.count]) { bytes }()
        let table = try numbers("\(lowered.name) table", lowered.type, encoding.tables[0], [encoding.tables[0].count])
        lowered.operation = "constexpr_lut_to_dense"
        lowered.byteCount = Self.byteCount([indices, table])
        return builder.decompress(
            lowered.operation, lowered.name, MILTensorType(lowered.type, lowered.sizes),
            attributes: [
                MILNamed("indices", indices), MILNamed("lut", table),
                MILNamed("shape", lowered.shapeValue),
            ])
    }

    /// For iOS 18: tables for groups of rows, and scales of rows in a second operation.
    private mutating func grouped(
        _ encoding: PaletteEncoding, _ type: MILDataType, _ lowered: inout LoweredWeight, in builder: inout MILBuilder
    ) throws -> MILOperand {
        let groups = encoding.groups(of: lowered.rows)
        let lut = try lookUp(groups, encoding, &lowered, in: &builder)
        if groups.count > Set(groups).count {
            let rows = lowered.rows / max(groups.count, 1)
            lowered.remark =
                "a table for each \(Wording.count(rows, "row")) in place of \(encoding.rowsPerTable), as Core ML's groups are of one "
                + "size, and \(encoding.rowsPerTable) does not divide the rows"
        }
        let indices = try stream(encoding.codes, "\(lowered.name) codes", type, lowered.sizes)
        let grid = try encoding.scales.map { try ScaleGrid(lowered, rows: lowered.rows, block: $0.block) }
        let scales = encoding.scales.flatMap { scales in grid?.cut(scales.values) }
        lowered.operation = "constexpr_lut_to_dense"
        lowered.byteCount += Self.byteCount([indices])
        let dense = builder.decompress(
            lowered.operation, scales == nil ? lowered.name : "\(lowered.name)_unscaled",
            MILTensorType(lowered.type, lowered.sizes),
            inputs: [MILNamed("indices", [.value(indices)]), MILNamed("lut", [lut])])
        guard let grid, let scales else { return dense }
        let factors = try numbers("\(lowered.name) scales", lowered.type, scales, grid.sizes)
        lowered.byteCount += Self.byteCount([factors])
        return builder.decompress(
            "constexpr_blockwise_shift_scale", lowered.name, MILTensorType(lowered.type, lowered.sizes),
            inputs: [MILNamed("data", [.name(dense.name)]), MILNamed("scale", [.value(factors)])])
    }

    /// Appends the lookup in tables of groups of rows, [groups, 1, ..., entries, 1]. Tables of integers with a scale are
    /// decompressed first.
    mutating func lookUp(
        _ groups: [Int], _ encoding: PaletteEncoding, _ lowered: inout LoweredWeight, in builder: inout MILBuilder
    ) throws -> MILBinding {
        let ones = lowered.sizes.dropFirst().map { _ in 1 }
        let sizes = [groups.count] + ones + [1 << encoding.codes.bits, 1]
        guard let integers = encoding.integers else {
            let table = try numbers(
                "\(lowered.name) table", lowered.type, groups.flatMap { encoding.tables[$0] }, sizes)
            lowered.byteCount += Self.byteCount([table])
            return .value(table)
        }
        let entries = try codes("\(lowered.name) entries", .int8, groups.flatMap { integers.entries[$0] }, sizes)
        let scales = try numbers(
            "\(lowered.name) table scales", lowered.type, groups.map { integers.scales[$0] },
            [groups.count] + ones + [1, 1])
        lowered.byteCount += Self.byteCount([entries, scales])
        let table = builder.decompress(
            "constexpr_blockwise_shift_scale", "\(lowered.name)_table", MILTensorType(lowered.type, sizes),
            inputs: [MILNamed("data", [.value(entries)]), MILNamed("scale", [.value(scales)])])
        return .name(table.name)
    }

    /// For iOS 18: vector codes for neighbours along the last axis of more than one element.
    mutating func vectors(
        _ encoding: VectorEncoding, _ lowered: inout LoweredWeight, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard options.target >= .iOS18 else {
            throw LoweringGap(
                reason: "tables of vectors need iOS 18",
                candidates: [CoreMLExporter.target.candidate("iOS18"), "palette:bits=4"])
        }
        let axis = lowered.sizes.lastIndex { $0 > 1 } ?? 0
        guard let type = MILDataType(codeBits: encoding.codes.bits), axis > 0, lowered.sizes[axis] % encoding.size == 0
        else {
            throw LoweringGap(
                reason: "vectors of \(encoding.size) do not divide the last axis of \(lowered.sizes)",
                candidates: ["palette"])
        }
        var sizes = lowered.sizes
        sizes[axis] /= encoding.size
        let groups = PaletteEncoding.groups(
            of: lowered.rows, tables: encoding.tables.count, rowsPerTable: encoding.rowsPerTable)
        let indices = try stream(encoding.codes, "\(lowered.name) codes", type, sizes)
        let table = try numbers(
            "\(lowered.name) table", lowered.type, groups.flatMap { encoding.tables[$0] },
            [groups.count] + sizes.dropFirst().map { _ in 1 } + [1 << encoding.codes.bits, encoding.size])
        lowered.operation = "constexpr_lut_to_dense"
        lowered.byteCount = Self.byteCount([indices, table])
        return builder.decompress(
            lowered.operation, lowered.name, MILTensorType(lowered.type, lowered.sizes),
            inputs: [
                MILNamed("indices", [.value(indices)]), MILNamed("lut", [.value(table)]),
                MILNamed("vector_axis", [.value(MILValue(axis))]),
            ])
    }
}

extension PaletteEncoding {
    /// Returns the tables for groups of equal size; the last group of a scheme may be smaller.
    func groups(of rows: Int) -> [Int] {
        Self.groups(of: rows, tables: tables.count, rowsPerTable: rowsPerTable)
    }

    static func groups(of rows: Int, tables: Int, rowsPerTable: Int) -> [Int] {
        let size = tables == 1 ? rows : greatestCommonDivisor(rows, rowsPerTable)
        return (0..<rows / max(size, 1)).map { tables == 1 ? 0 : $0 * size / rowsPerTable }
    }
}
