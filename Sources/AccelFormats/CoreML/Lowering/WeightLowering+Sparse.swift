import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Lowers sparse weights, masks with the kept values, to Core ML's `constexpr` operations.
extension WeightLowering {
    mutating func sparse(
        _ encoding: SparseEncoding, _ lowered: inout LoweredWeight, in builder: inout MILBuilder
    ) throws -> MILOperand {
        if options.target < .iOS18 { return try oldSparse(encoding, &lowered, in: &builder) }
        let mask = try stream(encoding.mask, "\(lowered.name) mask", .uint1, lowered.sizes)
        lowered.operation = "constexpr_sparse_to_dense"
        lowered.byteCount = Self.byteCount([mask])
        let parts: (mask: MILBinding, kept: MILBinding)
        switch encoding.kept {
        case .values(let type, let bytes):
            parts = (.value(mask), .value(try plain(type, bytes, encoding.count, lowered)))
            if case .value(let kept) = parts.kept { lowered.byteCount += Self.byteCount([kept]) }
        case .palette(let palette) where palette.tables.count == 1 && palette.scales == nil:
            guard let type = MILDataType(codeBits: palette.codes.bits) else { throw Self.gap(encoding) }
            let kept = try value("\(lowered.name) codes", type, [encoding.count]) {
                palette.codes.stream(first: encoding.count)
            }()
            let lut = try lookUp([0], palette, &lowered, in: &builder)
            lowered.byteCount += Self.byteCount([kept])
            parts = builder.decompressSparse(
                "constexpr_lut_to_sparse", lowered,
                [("indices_mask", .value(mask)), ("indices_nonzero_data", .value(kept)), ("lut", lut)], encoding.count)
        case .affine(let affine) where affine.scales.count == 1 && affine.offsets == nil:
            let type: MILDataType = affine.codes.bits == 4 ? .int4 : .int8
            let ones = lowered.sizes.map { _ in 1 }
            let kept = try value("\(lowered.name) codes", type, [encoding.count]) {
                affine.codes.stream(first: encoding.count)
            }()
            let scale = try numbers("\(lowered.name) scale", lowered.type, affine.scales, ones)
            var inputs: [(String, MILBinding)] = [
                ("data_mask", .value(mask)), ("nonzero_data", .value(kept)), ("scale", .value(scale)),
            ]
            if let zeros = affine.zeros {
                inputs.append(("offset", .value(try codes("\(lowered.name) zero", type, zeros, ones))))
            }
            lowered.byteCount += Self.byteCount([kept, scale])
            parts = builder.decompressSparse(
                "constexpr_sparse_blockwise_shift_scale", lowered, inputs, encoding.count)
        default:
            throw Self.gap(encoding)
        }
        return builder.decompress(
            lowered.operation, lowered.name, MILTensorType(lowered.type, lowered.sizes),
            inputs: [MILNamed("nonzero_data", [parts.kept]), MILNamed("mask", [parts.mask])])
    }

    private static func gap(_ encoding: SparseEncoding) -> LoweringGap {
        LoweringGap(
            reason: "kept weights with several scales or tables have no operation",
            candidates: ["sparse+float16", "sparse+int8:axis=tensor", "sparse+palette"])
    }

    /// For iOS 16 and 17: the kept values are plain numbers.
    private mutating func oldSparse(
        _ encoding: SparseEncoding, _ lowered: inout LoweredWeight, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard case .values(let type, let bytes) = encoding.kept else {
            throw LoweringGap(
                reason: "kept weights that are compressed need iOS 18",
                candidates: [CoreMLExporter.target.candidate("iOS18"), "sparse+float16"])
        }
        let bits = encoding.mask.stream
        let mask = try value("\(lowered.name) mask", .uint8, [bits.count]) { bits }()
        let kept = try plain(type, bytes, encoding.count, lowered)
        lowered.operation = "constexpr_sparse_to_dense"
        lowered.byteCount = Self.byteCount([mask, kept])
        return builder.decompress(
            lowered.operation, lowered.name, MILTensorType(lowered.type, lowered.sizes),
            attributes: [
                MILNamed("mask", mask), MILNamed("nonzero_data", kept), MILNamed("shape", lowered.shapeValue),
            ])
    }

    private mutating func plain(
        _ type: ElementType, _ bytes: ByteView, _ count: Int, _ lowered: LoweredWeight
    ) throws -> MILValue {
        let tensor = StoredTensor(
            name: lowered.name, elementType: type, shape: [count], bytes: bytes[0..<count * type.byteCount])
        return try value("\(lowered.name) kept", lowered.type, [count]) {
            try tensor.bytes(as: lowered.type == .float16 ? .float16 : .float32)
        }()
    }
}

extension MILBuilder {
    /// Appends an operation whose results are a mask and the kept values.
    fileprivate mutating func decompressSparse(
        _ type: String, _ lowered: LoweredWeight, _ inputs: [(String, MILBinding)], _ count: Int
    ) -> (mask: MILBinding, kept: MILBinding) {
        let results = decompress(
            type,
            [
                ("\(lowered.name)_mask", MILTensorType(.uint1, lowered.sizes)),
                ("\(lowered.name)_kept", MILTensorType(lowered.type, [count])),
            ], inputs: inputs.map { MILNamed($0.0, [$0.1]) })
        return (.name(results[0].name), .name(results[1].name))
    }
}
