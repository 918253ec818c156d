import AccelByteIO
import AccelWeightCompression

/// Lowers integers with scales to Core ML's `constexpr` operations.
extension WeightLowering {
    mutating func affine(
        _ form: AffineForm, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        options.target >= .iOS18
            ? try blockwise(form, &place, in: &builder) : try perChannel(form, &place, in: &builder)
    }

    /// For iOS 16 and 17: eight bits, with a scale for the tensor or for each row.
    private mutating func perChannel(
        _ form: AffineForm, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard form.codes.bits == 8, form.block >= place.columns, form.offsets == nil else {
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
        place.byteCount = Self.byteCount([data, scales, zeros])
        return builder.decompress(
            place.form, place.name, MILTensorType(place.type, place.extents),
            attributes: [
                MILNamed("axis", MILValue(0)), MILNamed("quantized_data", data), MILNamed("scale", scales),
                MILNamed("zero_point", zeros),
            ])
    }

    /// For iOS 18: blocks along the columns.
    private mutating func blockwise(
        _ form: AffineForm, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        let grid = try ScaleGrid(place, rows: form.scaleRows, block: form.block)
        let (type, codes) = Self.integers(form)
        var values = [
            ("data", try stream(codes, "\(place.name) codes", type, place.extents)),
            ("scale", try numbers("\(place.name) scales", place.type, grid.cut(form.scales), grid.extents)),
        ]
        if let zeros = form.zeros {
            let zeros = grid.cut(zeros)
            values.append(("offset", try self.codes("\(place.name) zeros", type, zeros, grid.extents)))
        } else if let offsets = form.offsets {
            let offsets = grid.cut(offsets)
            if place.type == .float16, let far = offsets.first(where: { abs($0) > 512 }) {
                throw FormGap(
                    reason: "a block whose zero is \(far) steps away cannot say so in float16",
                    alternative: "use --precision float32, int4 or a palette")
            }
            values.append(("offset", try numbers("\(place.name) offsets", place.type, offsets, grid.extents)))
        }
        let inputs = values.map { MILNamed($0.0, [MILBinding.value($0.1)]) }
        place.form = "constexpr_blockwise_shift_scale"
        place.byteCount = Self.byteCount(values.map(\.1))
        return builder.decompress(place.form, place.name, MILTensorType(place.type, place.extents), inputs: inputs)
    }

    /// Returns the integer type for codes, which has 4 or 8 bits, and the codes in it.
    private static func integers(_ form: AffineForm) -> (MILDataType, PackedCodes) {
        switch (form.isSigned, form.codes.bits) {
        case (true, 4): (.int4, form.codes)
        case (true, _): (.int8, form.codes)
        case (false, ...4): (.uint4, form.codes.widened(to: 4))
        default: (.uint8, form.codes.widened(to: 8))
        }
    }
}
