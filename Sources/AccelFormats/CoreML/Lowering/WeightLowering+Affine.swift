import AccelByteIO
import AccelWeightCompression

/// Lowers integers with scales to Core ML's `constexpr` operations.
extension WeightLowering {
    mutating func affine(
        _ encoding: AffineEncoding, _ lowered: inout LoweredWeight, in builder: inout MILBuilder
    ) throws -> MILOperand {
        options.target >= .iOS18
            ? try blockwise(encoding, &lowered, in: &builder) : try perChannel(encoding, &lowered, in: &builder)
    }

    /// For iOS 16 and 17: eight bits, with a scale for the tensor or for each row.
    private mutating func perChannel(
        _ encoding: AffineEncoding, _ lowered: inout LoweredWeight, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard encoding.codes.bits == 8, encoding.block >= lowered.columns, encoding.offsets == nil else {
            throw LoweringGap(
                reason: "\(encoding.codes.bits)-bit blocks need iOS 18",
                candidates: [CoreMLExporter.target.candidate("iOS18"), "int8", "palette:bits=4"])
        }
        let isWhole = encoding.scaleRows == 1
        let scales = try numbers(
            "\(lowered.name) scales", lowered.type, encoding.scales, isWhole ? [] : [encoding.scaleRows])
        let zeros = try codes(
            "\(lowered.name) zeros", .int8, encoding.zeros ?? encoding.scales.map { _ in 0 },
            isWhole ? [] : [encoding.scaleRows])
        let data = try stream(encoding.codes, "\(lowered.name) codes", .int8, lowered.sizes)
        lowered.operation = "constexpr_affine_dequantize"
        lowered.byteCount = Self.byteCount([data, scales, zeros])
        return builder.decompress(
            lowered.operation, lowered.name, MILTensorType(lowered.type, lowered.sizes),
            attributes: [
                MILNamed("axis", MILValue(0)), MILNamed("quantized_data", data), MILNamed("scale", scales),
                MILNamed("zero_point", zeros),
            ])
    }

    /// For iOS 18: blocks along the columns.
    private mutating func blockwise(
        _ encoding: AffineEncoding, _ lowered: inout LoweredWeight, in builder: inout MILBuilder
    ) throws -> MILOperand {
        let grid = try ScaleGrid(lowered, rows: encoding.scaleRows, block: encoding.block)
        let (type, codes) = Self.integers(encoding)
        var values = [
            ("data", try stream(codes, "\(lowered.name) codes", type, lowered.sizes)),
            ("scale", try numbers("\(lowered.name) scales", lowered.type, grid.cut(encoding.scales), grid.sizes)),
        ]
        if let zeros = encoding.zeros {
            let zeros = grid.cut(zeros)
            values.append(("offset", try self.codes("\(lowered.name) zeros", type, zeros, grid.sizes)))
        } else if let offsets = encoding.offsets {
            let offsets = grid.cut(offsets)
            if lowered.type == .float16, let far = offsets.first(where: { abs($0) > 512 }) {
                throw LoweringGap(
                    reason: "a block whose zero is \(far) steps away cannot say so in float16",
                    candidates: [CoreMLExporter.precision.candidate("float32"), "int4", "palette"])
            }
            values.append(("offset", try numbers("\(lowered.name) offsets", lowered.type, offsets, grid.sizes)))
        }
        let inputs = values.map { MILNamed($0.0, [MILBinding.value($0.1)]) }
        lowered.operation = "constexpr_blockwise_shift_scale"
        lowered.widening = CodeWidening(encoding.codes.bits, in: codes.bits)
        lowered.byteCount = Self.byteCount(values.map(\.1))
        return builder.decompress(
            lowered.operation, lowered.name, MILTensorType(lowered.type, lowered.sizes), inputs: inputs)
    }

    /// Returns the integer type for codes, which has 4 or 8 bits, and the codes in it.
    private static func integers(_ encoding: AffineEncoding) -> (MILDataType, PackedCodes) {
        switch (encoding.isSigned, encoding.codes.bits) {
        case (true, 4): (.int4, encoding.codes)
        case (true, _): (.int8, encoding.codes)
        case (false, ...4): (.uint4, encoding.codes.widened(to: 4))
        default: (.uint8, encoding.codes.widened(to: 8))
        }
    }
}
