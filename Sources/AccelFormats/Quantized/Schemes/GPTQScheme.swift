import AccelByteIO
import AccelTensors

/// GPTQ, as AutoGPTQ, GPTQModel and optimum store it: words down the input columns, with `g_idx`, the group of each column.
enum GPTQScheme: QuantizedScheme {
    static let title = "GPTQ"
    static let mark = ".qweight"
    static let parts = [".qweight", ".qzeros", ".scales", ".g_idx"]

    static func fits(_ layer: QuantizedLayer) -> Bool { layer[".g_idx"] != nil }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        let words = try layer.matrix(".qweight", [.int32])
        let indices = try layer.tensor(".g_idx", [.int32, .int64])
        let scaleTensor = try layer.matrix(".scales", StoredTensor.scaleTypes)
        let (rows, groups) = (words.shape.matrix.columns, scaleTensor.shape.matrix.rows)
        let columns = indices.shape.count
        guard indices.shape.rank == 1, columns > 0, scaleTensor.shape.matrix.columns == rows,
            let bits = [2, 3, 4, 8].first(where: { PackedWords.count(columns, bits: $0) == words.shape.matrix.rows })
        else {
            throw words.error(
                "words of \(words.shape), scales of \(scaleTensor.shape) and g_idx of \(indices.shape) are not of 2, 3, 4 or 8 "
                    + "bits")
        }
        let isSecond = try isSecondVersion(layer.configuration)
        let zeroWords = try layer.tensor(".qzeros", [.int32], [groups, PackedWords.count(rows, bits: bits)])
        let facts = LayerFacts(bits: bits, zeros: .stored)
        let symmetric = try layer.symmetricStatement(facts, scales: [rows, groups], rows, columns)
        let half = Float(1 << (bits - 1))
        let zeros: @Sendable () throws -> [Float] = {
            let zeros = try Self.zeros(zeroWords, layer, bits, rows, isSecond)
            if let symmetric, zeros.contains(where: { $0 != half }) { throw symmetric }
            return zeros.transposed(rows: groups)
        }
        let order = try GPTQOrder(
            layer, indices, groups: groups, try layer.agreeing(with: facts, scales: [rows, groups], rows, columns))
        let codes = GroupedCodes(
            rows: rows, columns: columns, bits: bits,
            codes: {
                try order.check()
                return PackedWords.downColumns(words, bits: bits, count: columns)
            }, group: order.group, groups: groups,
            scales: {
                // Zeros of a symmetric grid are not needed, and compared here.
                if symmetric != nil { _ = try zeros() }
                return try scaleTensor.finiteScales().transposed(rows: groups)
            }, scaleType: scaleTensor.elementType, zeros: symmetric == nil ? .integers(zeros) : .middle)
        return order.groupOfColumn.map { codes.permuted(groupOfColumn: $0) } ?? codes.weight()
    }

    /// Returns whether zero points are stored as they are. Both names of the field are in use.
    private static func isSecondVersion(_ configuration: QuantizationConfiguration) throws -> Bool {
        var names: [String] = []
        for key in ["checkpoint_format", "format"] where configuration[key].exists {
            let field = configuration[key]
            let name = try field.string().lowercased()
            guard name == "gptq" || name == "gptq_v2" else { throw unsupported(field, name) }
            if let first = names.first, first != name { throw field.error("differs from checkpoint_format") }
            names.append(name)
        }
        return names.first == "gptq_v2"
    }

    /// Returns the error for a layout that is not read.
    static func unsupported(_ field: JSONField, _ name: String) -> RequestError {
        let reason =
            ["marlin", "bitblas"].contains(name)
            ? "has codes in the order of one GPU kernel" : "is a format of codes that is not supported"
        return RequestError(
            "\(field.error("\(quoted(name)) \(reason)")); convert the original model, or one saved with the format gptq",
            status: .unavailable)
    }

    /// Returns the zero points of each group, in the order of words. The first version of the format stores them less 1.
    private static func zeros(
        _ tensor: StoredTensor, _ layer: QuantizedLayer, _ bits: Int, _ rows: Int, _ isSecond: Bool
    ) throws -> [Float] {
        let stored = PackedWords.alongRows(tensor, bits: bits, count: rows)
        if isSecond { return stored.map { Float($0) } }
        let top = UInt8((1 << bits) - 1)
        guard let index = stored.firstIndex(of: top) else { return stored.map { Float($0) + 1 } }
        let writers = try writers(layer.configuration["meta"]["quantizer"])
        guard writers.contains(where: { $0.hasPrefix("gptqmodel") }) else {
            throw RequestError(
                tensor.error(
                    "row \(index / rows) has a zero point of all ones, which the first version of GPTQ's format writes for two "
                        + "numbers"
                ).description + "; convert the original model, or save it as gptq_v2", status: .unavailable)
        }
        if bits == 3 { return stored.map { Float($0 == top ? 0 : $0 + 1) } }
        // GPTQModel subtracts 1 of every field by one subtraction of words, so that a zero borrows from its neighbour.
        let one: UInt32 = bits == 2 ? 0x5555_5555 : bits == 4 ? 0x1111_1111 : 0x0101_0101
        let words = tensor.bytes.withBytes { bytes in
            (0..<tensor.shape.count).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) &+ one }
        }
        let whole = StoredTensor(
            name: tensor.name, elementType: .int32, shape: tensor.shape, bytes: ByteView(words), file: tensor.file)
        return PackedWords.alongRows(whole, bits: bits, count: rows).map { Float($0) }
    }

    private static func writers(_ field: JSONField) throws -> [String] {
        guard field.exists else { return [] }
        if case .array? = field.value { return try field.array().map { try $0.string() } }
        return [try field.string()]
    }
}
