import AccelByteIO

/// A safetensors file in memory, of named tensors, with a configuration in its metadata (`config`).
struct TensorFile {
    /// Type, shape and bytes, by name.
    var tensors: [String: (type: String, shape: [Int], bytes: [UInt8])]
    var config: String

    init(config: String, _ tensors: [String: (type: String, shape: [Int], bytes: [UInt8])]) {
        (self.config, self.tensors) = (config, tensors)
    }

    static func floats(_ values: [Float], _ shape: [Int]? = nil) -> (type: String, shape: [Int], bytes: [UInt8]) {
        ("F32", shape ?? [values.count], values.withUnsafeBytes { Array($0) })
    }
    static func halves(_ bits: [UInt16], _ shape: [Int]) -> (type: String, shape: [Int], bytes: [UInt8]) {
        ("F16", shape, bits.withUnsafeBytes { Array($0) })
    }
    static func words(_ values: [Int32], _ shape: [Int]? = nil) -> (type: String, shape: [Int], bytes: [UInt8]) {
        ("I32", shape ?? [values.count], values.withUnsafeBytes { Array($0) })
    }
    static func longs(_ values: [Int64], _ shape: [Int]? = nil) -> (type: String, shape: [Int], bytes: [UInt8]) {
        ("I64", shape ?? [values.count], values.withUnsafeBytes { Array($0) })
    }
    static func bytes(
        _ values: [UInt8], _ shape: [Int]? = nil, as type: String = "U8"
    ) -> (type: String, shape: [Int], bytes: [UInt8]) {
        (type, shape ?? [values.count], values)
    }

    /// The file's bytes.
    var encoded: [UInt8] {
        var (header, data) = ("{\"__metadata__\":{\"config\":\(Self.quoted(config))}", [UInt8]())
        for (name, tensor) in tensors.sorted(by: { $0.key < $1.key }) {
            let shape = tensor.shape.map { "\($0)" }.joined(separator: ",")
            header += ",\(Self.quoted(name)):{\"dtype\":\"\(tensor.type)\",\"shape\":[\(shape)],"
            header += "\"data_offsets\":[\(data.count),\(data.count + tensor.bytes.count)]}"
            data += tensor.bytes
        }
        let text = Array((header + "}").utf8)
        return (0..<8).map { UInt8(truncatingIfNeeded: text.count >> (8 * $0)) } + text + data
    }

    private static func quoted(_ text: String) -> String {
        "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    /// Returns the file with one tensor replaced, or without it.
    func replacing(_ name: String, by tensor: (type: String, shape: [Int], bytes: [UInt8])?) -> TensorFile {
        var copy = self
        copy.tensors[name] = tensor
        return copy
    }

    /// Returns the file with another configuration.
    func configured(_ config: String) -> TensorFile {
        var copy = self
        copy.config = config
        return copy
    }
}
