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
        let state = JSONField(try JSON.parse(mark.bytes, file: "\(mark.file), tensor \(mark.name)"), file: mark.name)
        let sizes = try state["shape"].array().map { try $0.int(in: 1...1 << 31) }
        let block = try state["blocksize"].int(in: 1...1 << 20)
        guard sizes.count == 2, let count = Shape(sizes).checkedCount else {
            throw state["shape"].error("expected two sizes")
        }
        let (shape, columns) = (Shape(sizes), sizes[1])
        let packed = try layer.tensor(".weight", [.uint8])
        guard packed.shape.count == (count + 1) / 2 else {
            throw packed.error("expected \((count + 1) / 2) bytes for \(shape), found \(packed.shape)")
        }
        let scales = try scales(layer, state, (count + block - 1) / block)
        let table = try layer.tensor(".weight.quant_map", [.float32], [16]).finiteScales()
        let bytes = packed.byteArray
        let step = [128, 64, 32, 16].first { block % $0 == 0 && columns % block == 0 }
        if table == NF4Codec.table, let step {
            let places = (0..<count / step).map { scales[$0 * step / block] }
            return .encoded(
                codec: "nf4:block=\(step),scales=float32", shape: shape,
                sections: [ByteView(bytes.map { $0 << 4 | $0 >> 4 }), ByteView(places)])
        }
        let values = (0..<count).map { index in
            table[Int(index % 2 == 0 ? bytes[index / 2] >> 4 : bytes[index / 2] & 15)] * scales[index / block]
        }
        return .decoded(
            values, shape: shape,
            reason: table == NF4Codec.table ? "its blocks run across rows" : "no scheme has the table of FP4")
    }

    private static func scales(_ layer: QuantizedLayer, _ state: JSONField, _ count: Int) throws -> [Float] {
        guard let nested = layer[".weight.nested_absmax"] else {
            return try layer.tensor(".weight.absmax", [.float32], [count]).finiteScales()
        }
        let codes = try layer.tensor(".weight.absmax", [.uint8], [count]).byteArray
        let block = try state["nested_blocksize"].int(in: 1...1 << 20)
        let offset = Float(try state["nested_offset"].double())
        let table = try layer.tensor(".weight.nested_quant_map", [.float32], [256]).finiteScales()
        let factors = try nested.finiteScales()
        guard factors.count == (count + block - 1) / block else {
            throw nested.error("expected \((count + block - 1) / block) scales of scales, found \(nested.shape)")
        }
        return codes.indices.map { table[Int(codes[$0])] * factors[$0 / block] + offset }
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
        let largest = try layer.tensor(".SCB", [.float32], [codes.shape.matrix.rows]).finiteScales()
        return try Int8Rows(codes, scales: largest.map { $0 / 127 }).weight()
    }
}
