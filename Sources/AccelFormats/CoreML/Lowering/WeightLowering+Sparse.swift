import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Lowers sparse weights, masks with the kept values, to Core ML's `constexpr` operations.
extension WeightLowering {
    mutating func sparse(
        _ form: SparseForm, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        if options.target < .iOS18 { return try oldSparse(form, &place, in: &builder) }
        let mask = try stream(form.mask, "\(place.name) mask", .uint1, place.extents)
        place.form = "constexpr_sparse_to_dense"
        place.byteCount = Self.byteCount([mask])
        let parts: (mask: MILBinding, kept: MILBinding)
        switch form.kept {
        case .values(let type, let bytes):
            parts = (.value(mask), .value(try plain(type, bytes, form.count, place)))
            if case .value(let kept) = parts.kept { place.byteCount += Self.byteCount([kept]) }
        case .palette(let palette) where palette.tables.count == 1 && palette.scales == nil:
            guard let type = MILDataType(codeBits: palette.codes.bits) else { throw Self.gap(form) }
            let kept = try value("\(place.name) codes", type, [form.count]) {
                palette.codes.stream(first: form.count)
            }()
            let lut = try lookUp([0], palette, &place, in: &builder)
            place.byteCount += Self.byteCount([kept])
            parts = builder.decompressSparse(
                "constexpr_lut_to_sparse", place,
                [("indices_mask", .value(mask)), ("indices_nonzero_data", .value(kept)), ("lut", lut)], form.count)
        case .affine(let affine) where affine.scales.count == 1 && affine.offsets == nil:
            let type: MILDataType = affine.codes.bits == 4 ? .int4 : .int8
            let ones = place.extents.map { _ in 1 }
            let kept = try value("\(place.name) codes", type, [form.count]) { affine.codes.stream(first: form.count) }()
            let scale = try numbers("\(place.name) scale", place.type, affine.scales, ones)
            var inputs: [(String, MILBinding)] = [
                ("data_mask", .value(mask)), ("nonzero_data", .value(kept)), ("scale", .value(scale)),
            ]
            if let zeros = affine.zeros {
                inputs.append(("offset", .value(try codes("\(place.name) zero", type, zeros, ones))))
            }
            place.byteCount += Self.byteCount([kept, scale])
            parts = builder.decompressSparse(
                "constexpr_sparse_blockwise_shift_scale", place, inputs, form.count)
        default:
            throw Self.gap(form)
        }
        return builder.decompress(
            place.form, place.name, MILTensorType(place.type, place.extents),
            inputs: [MILNamed("nonzero_data", [parts.kept]), MILNamed("mask", [parts.mask])])
    }

    private static func gap(_ form: SparseForm) -> FormGap {
        FormGap(
            reason: "kept weights with several scales or tables have no operation",
            alternative: "use sparse with float16, int8:axis=tensor or a palette without groups and scales")
    }

    /// For iOS 16 and 17: the kept values are plain numbers.
    private mutating func oldSparse(
        _ form: SparseForm, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard case .values(let type, let bytes) = form.kept else {
            throw FormGap(
                reason: "kept weights that are compressed need iOS 18",
                alternative: "use --target iOS18, sparse+float16, or a scheme without sparse")
        }
        let bits = form.mask.stream
        let mask = try value("\(place.name) mask", .uint8, [bits.count]) { bits }()
        let kept = try plain(type, bytes, form.count, place)
        place.form = "constexpr_sparse_to_dense"
        place.byteCount = Self.byteCount([mask, kept])
        return builder.decompress(
            place.form, place.name, MILTensorType(place.type, place.extents),
            attributes: [
                MILNamed("mask", mask), MILNamed("nonzero_data", kept), MILNamed("shape", place.shapeValue),
            ])
    }

    private mutating func plain(
        _ type: ElementType, _ bytes: ByteView, _ count: Int, _ place: WeightPlace
    ) throws -> MILValue {
        let tensor = StoredTensor(
            name: place.name, elementType: type, shape: [count], bytes: bytes[0..<count * type.byteCount])
        return try value("\(place.name) kept", place.type, [count]) {
            try tensor.bytes(as: place.type == .float16 ? .float16 : .float32)
        }()
    }
}

extension MILBuilder {
    /// Appends an operation whose results are a mask and the kept values.
    fileprivate mutating func decompressSparse(
        _ type: String, _ place: WeightPlace, _ inputs: [(String, MILBinding)], _ count: Int
    ) -> (mask: MILBinding, kept: MILBinding) {
        let results = decompress(
            type,
            [
                ("\(place.name)_mask", MILTensorType(.uint1, place.extents)),
                ("\(place.name)_kept", MILTensorType(place.type, [count])),
            ], inputs: inputs.map { MILNamed($0.0, [$0.1]) })
        return (.name(results[0].name), .name(results[1].name))
    }
}
