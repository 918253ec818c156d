import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// NormalFloat-4 of bitsandbytes.
enum BitsAndBytesNF4Scheme: BitsAndBytesTableScheme {
    static let title = "bitsandbytes NF4"
    static let mark = ".weight.quant_state.bitsandbytes__nf4"
}

/// FP4 of bitsandbytes, which is another table than E2M1.
enum BitsAndBytesFP4Scheme: BitsAndBytesTableScheme {
    static let title = "bitsandbytes FP4"
    static let mark = ".weight.quant_state.bitsandbytes__fp4"
}

/// Codes of four bits into a table. Blocks run over the flat tensor; their scales may be quantized, too.
protocol BitsAndBytesTableScheme: QuantizedScheme {}

extension BitsAndBytesTableScheme {
    static var parts: [String] {
        [
            mark, ".weight", ".weight.absmax", ".weight.quant_map", ".weight.nested_absmax", ".weight.nested_quant_map",
        ]
    }

    static func fits(_ layer: QuantizedLayer) -> Bool { true }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        let mark = try layer.mark
        let (sizes, block) = try reading(mark) { state in
            (
                try state["shape"].array().map { try $0.int(in: 1...1 << 31) },
                try state["blocksize"].int(in: 1...1 << 20)
            )
        }
        guard sizes.count == 2, let count = Shape(sizes).checkedCount else {
            throw mark.error("its field shape has \(sizes.count) sizes, expected two sizes")
        }
        let (shape, columns) = (Shape(sizes), sizes[1])
        let packed = try layer.tensor(".weight", [.uint8])
        guard packed.shape.count == (count + 1) / 2 else {
            throw packed.error("expected \((count + 1) / 2) bytes for \(shape), found \(packed.shape)")
        }
        try checkState(layer)
        let scales = try scales(layer, (count + block - 1) / block)
        let table = try layer.tensor(".weight.quant_map", [.float32], [16]).finiteScales()
        try checkTable(table, layer)
        let steps = [128, 64, 32, 16].filter { block % $0 == 0 }
        guard let (codec, ranks) = codec(of: table), let widest = steps.first else {
            let reason = block % 16 == 0 ? "no scheme has its table" : "no scheme has blocks of \(block)"
            return .decoded(shape: shape, reason: reason) {
                let (bytes, scales) = (packed.byteArray, try scales())
                return (0..<count).map { (index: Int) -> Float in
                    table[Int(index % 2 == 0 ? bytes[index / 2] >> 4 : bytes[index / 2] & 15)] * scales[index / block]
                }
            }
        }
        let codes: @Sendable () -> [UInt8] = {
            packed.byteArray.map { ranks[Int($0 >> 4)] | ranks[Int($0 & 15)] << 4 }
        }
        func scheme(_ step: Int) -> String { "\(codec):block=\(step),scales=float32" }
        // Rows of whole blocks, or of parts that repeat the scale of their block.
        if let step = steps.first(where: { columns % $0 == 0 && ($0 == block || $0 >= 64) }) {
            return .encoded(codec: scheme(step), shape: shape) {
                let scales = try scales()
                return [ByteView(codes()), ByteView((0..<count / step).map { scales[$0 * step / block] })]
            }
        }
        // Blocks run across the ends of rows: longer rows have whole ones.
        let step = widest
        let row = min(max(block, 4096 / block * block), count)
        let rows = (count + row - 1) / row
        let perRow = (row + step - 1) / step
        return .encoded(codec: "flat:row=\(row)+\(scheme(step))", shape: shape) {
            let scales = try scales()
            let blockScales = (0..<rows * perRow).map { (index: Int) -> Float in
                scales[min(index / perRow * row + index % perRow * step, count - 1) / block]
            }
            let codes = codes()
            let padding = [UInt8](repeating: 0, count: rows * ((row + 1) / 2) - codes.count)
            return [ByteView(codes + padding), ByteView(blockScales)]
        }
    }

    /// Rejects another table than the tool's own: its product decodes by the kind alone, and does not read the table.
    private static func checkTable(_ table: [Float], _ layer: QuantizedLayer) throws {
        let half: [Float] = [0, 1 / 192, 2 / 3, 1, 1 / 3, 1 / 2, 1 / 6, 1 / 4]
        let own = mark.hasSuffix("nf4") ? NF4Codec.table : half + half.map { -$0 }
        // Versions of the tool differ in the last digits.
        guard let index = zip(table, own).enumerated().first(where: { abs($1.0 - $1.1) > 1e-6 })?.offset else { return }
        throw try layer.tensor(".weight.quant_map").error(
            "is \(table[index]), and \(title) has \(own[index]) there", index: index)
    }

    private static var stateFields: Set<String> {
        [
            "quant_type", "blocksize", "dtype", "shape", "nested_blocksize", "nested_offset", "nested_dtype",
            "nested_quant_type",
        ]
    }

    /// Rejects a state of another kind, with unknown fields, or with scales of scales that are not there.
    private static func checkState(_ layer: QuantizedLayer) throws {
        let kind = mark.hasSuffix("nf4") ? "nf4" : "fp4"
        try reading(layer.mark) { state in
            try state.rejectMembers(otherThan: stateFields)
            let type = state["quant_type"]
            if type.exists, try type.string() != kind {
                throw type.error("expected \(kind), as the tensor's name says")
            }
            let isNested = state["nested_offset"].exists || state["nested_blocksize"].exists
            guard isNested == (layer[".weight.nested_absmax"] != nil) else {
                throw state["nested_blocksize"].error("disagrees with the tensors about scales of scales")
            }
        }
        _ = try layer.agreeing(with: LayerFacts(bits: 4))
    }

    /// Returns the codec that has the entries of a table, and the rank there of each of them.
    private static func codec(of table: [Float]) -> (name: String, ranks: [UInt8])? {
        for (name, entries) in [(NF4Codec.name, NF4Codec.table), (FP4Codec.name, FP4Codec.table)] {
            let ranks = table.compactMap { entry in entries.firstIndex(of: entry).map { UInt8($0) } }
            if ranks.count == table.count { return (name, ranks) }
        }
        return nil
    }

    /// Reads fields of the state, a JSON document in a tensor, whose name errors have.
    private static func reading<Fields>(
        _ mark: StoredTensor, _ body: (JSONField) throws -> Fields
    ) throws -> Fields {
        do {
            return try body(JSONField(JSON.parse(mark.bytes, file: mark.file), file: mark.file))
        } catch let error as FormatError {
            guard case .field(let path) = error.location else { throw mark.error(error.reason) }
            throw mark.error("its field \(path): \(error.reason)")
        }
    }

    /// Checks the tensors of the scales.
    /// - Returns: a function that reads them.
    private static func scales(
        _ layer: QuantizedLayer, _ count: Int
    ) throws -> @Sendable () throws -> [Float] {
        guard let nested = layer[".weight.nested_absmax"] else {
            let tensor = try layer.tensor(".weight.absmax", [.float32], [count])
            return { try tensor.finiteScales() }
        }
        let codes = try layer.tensor(".weight.absmax", [.uint8], [count])
        let (block, offset) = try reading(layer.mark) { state in
            (try state["nested_blocksize"].int(in: 1...1 << 20), Float(try state["nested_offset"].double()))
        }
        guard offset.isFinite else { throw try layer.mark.error("its field nested_offset is out of range") }
        let table = try layer.tensor(".weight.nested_quant_map", [.float32], [256]).finiteScales()
        guard nested.shape.count == (count + block - 1) / block else {
            throw nested.error("expected \((count + block - 1) / block) scales of scales, found \(nested.shape)")
        }
        return {
            let factors = try nested.finiteScales()
            let scales = codes.byteArray.enumerated().map { table[Int($1)] * factors[$0 / block] + offset }
            guard scales.allSatisfy(\.isFinite) else { throw nested.error("a scale by it is not finite") }
            return scales
        }
    }
}

/// Int8 of bitsandbytes: rows, and the largest magnitude of each.
enum BitsAndBytesInt8Scheme: QuantizedScheme {
    static let title = "bitsandbytes int8"
    static let mark = ".SCB"
    static let parts = [".SCB", ".weight", ".weight_format"]

    static func fits(_ layer: QuantizedLayer) -> Bool { layer[".weight"]?.elementType == .int8 }

    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight {
        let codes = try layer.matrix(".weight", [.int8])
        if let format = layer[".weight_format"], format.byteArray.first != 0 {
            throw RequestError(
                "\(format.error("the weight is in the order of a GPU kernel")); convert the original model",
                status: .unavailable)
        }
        let largest = try layer.tensor(".SCB", [.float32], [codes.shape.matrix.rows])
        _ = try layer.agreeing(with: LayerFacts(bits: 8))
        return Int8Rows(codes, scaleType: .float32) { try largest.finiteScales().map { $0 / 127 } }.weight()
    }
}
