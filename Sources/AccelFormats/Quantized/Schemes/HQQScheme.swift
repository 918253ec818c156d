import AccelByteIO
import AccelTensors

/// HQQ: codes in parts of rows, and zero points that are no integers.
enum HQQScheme: QuantizedScheme {
    static let title = "HQQ"
    static let mark = ".W_q"
    static let parts = [
        ".W_q", ".scale", ".zero", ".nbits", ".group_size", ".axis", ".shape", ".packing", ".quant_scale",
        ".quant_zero",
    ]
    static let idleParts = [
        IdleParts(
            "flags and types of the tool, which change no weight",
            [
                ".compute_dtype", ".view_as_float", ".unpack_view_dtype", ".optimize", ".round_zero", ".channel_wise",
                ".stores_quant_config", ".encoded_state_dict", ".offload_meta",
            ])
    ]

    static func fits(_ layer: QuantizedLayer) -> Bool { true }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        for part in [".quant_zero", ".quant_scale"] {
            // A flag is stored as the number of a tensor.
            guard let flag = layer[part], flag.byteArray.contains(where: { $0 != 0 }) else { continue }
            throw RequestError(
                "\(flag.error("scales or zero points that are quantized themselves are not supported")); convert the "
                    + "original model, or one quantized with quant_zero=False and quant_scale=False",
                status: .unavailable)
        }
        let sizes = try layer.tensor(".shape", [.int64, .int32], [2]).integers().map { Int($0) }
        let bits = try number(layer, ".nbits")
        let axis = try number(layer, ".axis")
        let packed = try layer.tensor(".W_q")
        guard sizes.allSatisfy({ (1...1 << 31).contains($0) }), [1, 2, 3, 4, 8].contains(bits),
            axis == 0 || axis == 1,
            let count = Shape(sizes).checkedCount
        else { throw packed.error("\(sizes) weights of \(bits) bits are not HQQ's") }
        let (scaleTensor, zeroTensor) = (
            try layer.tensor(".scale", StoredTensor.scaleTypes), try layer.tensor(".zero", StoredTensor.scaleTypes)
        )
        let groups = scaleTensor.shape.count
        guard groups == zeroTensor.shape.count, groups > 0, count % groups == 0 else {
            throw scaleTensor.error(
                "\(groups) scales and \(zeroTensor.shape.count) zero points do not fit \(count) weights")
        }
        let group = count / groups
        let shape: Shape = axis == 1 ? [groups, 1] : [1, groups]
        guard scaleTensor.shape == shape, zeroTensor.shape == shape else {
            throw scaleTensor.error(
                "expected \(shape) scales and zero points along the axis \(axis), found \(scaleTensor.shape) and \(zeroTensor.shape)"
            )
        }
        try checkStatements(layer, bits: bits, group: group, axis: axis)
        // The matrix that is packed: a group in each row, or with axis 0 in each column.
        let (rows, columns) = axis == 1 ? (groups, group) : (group, groups)
        let codes: @Sendable () throws -> [UInt8] = { try unpacked(packed, bits, rows: rows, columns: columns) }
        if axis == 1, sizes[1] % group == 0 {
            return GroupedCodes(
                rows: sizes[0], columns: sizes[1], bits: bits, codes: codes, group: group, groups: sizes[1] / group,
                scales: { try scaleTensor.finiteScales() }, scaleType: scaleTensor.elementType,
                zeros: .floats(zeroTensor.elementType) { try zeroTensor.finiteScales() }
            ).weight()
        }
        let type = scaleTensor.elementType == zeroTensor.elementType ? scaleTensor.elementType : .float32
        let name =
            switch type {
            case .float16: "float16"
            case .bfloat16: "bfloat16"
            default: "float32"
            }
        return .encoded(
            codec: "hqq:bits=\(bits),group=\(group),axis=\(axis),scales=\(name)", shape: Shape(sizes)
        ) {
            let (scales, zeros) = (try scaleTensor.finiteScales(), try zeroTensor.finiteScales())
            return [GroupedCodes.packed(try codes(), bits: bits, sizes[1])]
                + (name == "float32"
                    ? [ByteView(scales), ByteView(zeros)] : [scaleTensor.bytes, zeroTensor.bytes])
        }
    }

    /// Rejects a group, a packing or a configuration that contradicts the tensors.
    private static func checkStatements(_ layer: QuantizedLayer, bits: Int, group: Int, axis: Int) throws {
        if let size = layer[".group_size"], size.shape.count == 1, size.integers()[0] != Int64(group) {
            throw size.error("is \(size.integers()[0]), and groups have \(group) weights")
        }
        // The tool's own names of packings are texts of bytes, such as `4bit_u8`.
        if let packing = layer[".packing"], packing.elementType == .uint8,
            !String(decoding: packing.byteArray, as: UTF8.self).hasPrefix("\(bits)bit_")
        {
            throw packing.error("is not a packing of \(bits) bits")
        }
        try layer.agreeing(with: LayerFacts(bits: bits))
        guard try HQQMethod.states(layer.configuration, bits: bits, group: group, axis: axis) else {
            throw try layer.mark.error(
                "has \(bits) bits in groups of \(group) along the axis \(axis), and the configuration states others")
        }
    }

    private static func number(_ layer: QuantizedLayer, _ part: String) throws -> Int {
        let tensor = try layer.tensor(part)
        guard tensor.shape.count == 1, !tensor.elementType.isFloatingPoint, tensor.elementType != .bool else {
            throw tensor.error("expected an integer")
        }
        return Int(tensor.integers()[0])
    }

    /// Returns the codes: the highest bits of all bytes are those of the first rows. 3 bits are in words, ten in each.
    private static func unpacked(_ tensor: StoredTensor, _ bits: Int, rows: Int, columns: Int) throws -> [UInt8] {
        let isOfWords = bits == 3
        let parts = isOfWords ? 10 : 8 / bits
        let perPart = (rows + parts - 1) / parts
        let size = isOfWords ? 4 : 1
        guard tensor.bytes.count == perPart * columns * size else {
            throw tensor.error("\(tensor.bytes.count) bytes are not \(rows) x \(columns) codes of \(bits) bits")
        }
        return tensor.bytes.withBytes { bytes in
            (0..<rows * columns).map { index in
                let (row, column) = index.quotientAndRemainder(dividingBy: columns)
                let (part, line) = row.quotientAndRemainder(dividingBy: perPart)
                let place = line * columns + column
                let word =
                    isOfWords ? bytes.loadUnaligned(fromByteOffset: 4 * place, as: UInt32.self) : UInt32(bytes[place])
                let shift = isOfWords ? 27 - 3 * part : 8 - bits - bits * part
                return UInt8(word >> UInt32(shift) & (1 << UInt32(bits) - 1))
            }
        }
    }
}
