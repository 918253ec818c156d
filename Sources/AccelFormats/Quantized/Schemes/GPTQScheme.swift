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
        let order = indices.integers().map { Int($0) }
        if let index = order.firstIndex(where: { !(0..<groups).contains($0) }) {
            throw indices.error("is \(order[index]), but there are \(groups) groups", index: index)
        }
        // The last group, and groups that were not filled, may be smaller.
        let group = order.reduce(into: [Int](repeating: 0, count: groups)) { $0[$1] += 1 }.max() ?? columns
        let scales = try scaleTensor.finiteScales().transposed(rows: groups)
        let zeros = try zeros(zeroWords, layer, bits, rows, isSecond).transposed(rows: groups)
        let isRegular = order.indices.allSatisfy { order[$0] == $0 / group }
        let half = Float(1 << (bits - 1))
        let statements = try layer.agreeing(
            with: LayerFacts(bits: bits, zeros: zeros.allSatisfy { $0 == half } ? .symmetric : .asymmetric),
            scales: [rows, groups], rows, columns)
        try checkOrder(layer, indices, order, group, statements)
        let codes = GroupedCodes(
            rows: rows, columns: columns, bits: bits,
            codes: { PackedWords.downColumns(words, bits: bits, count: columns) }, group: group,
            scales: scales, zeros: zeros, hasHalfScales: scaleTensor.elementType == .float16)
        return isRegular ? codes.weight() : codes.permuted(groupOfColumn: order)
    }

    /// Refuses columns in another order, or in larger groups, than the configuration states.
    private static func checkOrder(
        _ layer: QuantizedLayer, _ indices: StoredTensor, _ order: [Int], _ group: Int, _ statements: [LayerStatement]
    ) throws {
        let ordering = layer.configuration["desc_act"]
        if ordering.exists, try !ordering.bool(), !layer.configuration["dynamic"].exists,
            let index = order.indices.dropFirst().first(where: { order[$0] < order[$0 - 1] })
        {
            throw indices.error("\(ordering.place) states that columns are in order", index: index)
        }
        let sizes = statements.compactMap { statement -> Int? in
            if case .group(let size)? = statement.sharing { size } else { nil }
        }
        if let largest = sizes.max(), group > largest {
            throw indices.error("a group has \(group) columns, and the configuration states \(largest)")
        }
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

    /// Returns the zero points of each group. The first version of the format stores them less 1.
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
