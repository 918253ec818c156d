import AccelByteIO
import CAccelKernels

/// A safetensors file of decoded weights, as float32 or float16.
package struct DecompressedFile: ~Copyable {
    private var writer: SafetensorsWriter
    private let elementType: ElementType
    private let source: String

    /// Starts a file.
    /// - Parameters:
    ///   - tensors: names and shapes, in the order in which their elements are appended.
    ///   - source: the path of the model, for errors.
    /// - Throws: `RequestError` for another element type than float32 and float16.
    package init(
        replacing path: String, of tensors: [(name: String, shape: Shape)], as elementType: ElementType,
        from source: String
    ) throws {
        guard elementType == .float32 || elementType == .float16 else {
            throw RequestError("weights are decompressed to float32 or float16, not to \(elementType.rawValue)")
        }
        writer = try SafetensorsWriter(
            replacing: path, as: .weights,
            entries: tensors.map { .init(name: $0.name, elementType: elementType, shape: $0.shape) })
        (self.elementType, self.source) = (elementType, source)
    }

    /// Appends elements of a tensor.
    /// - Parameter start: the index of the first one, for errors.
    /// - Throws: `FormatError` for a value that exceeds float16.
    package mutating func append(_ floats: [Float], of name: String, from start: Int = 0) throws {
        if elementType == .float32 {
            try floats.withUnsafeBytes { try writer.append($0) }
            return
        }
        if let index = floats.firstIndex(where: { !($0.magnitude < 65520) }) {
            throw FormatError(
                file: source, location: .tensor(name, index: start + index),
                reason: "\(floats[index]) is beyond float16's largest number, 65504; decompress to float32")
        }
        var halves = [UInt16](repeating: 0, count: floats.count)
        ck_f32_to_f16(floats, &halves, floats.count)
        try halves.withUnsafeBytes { try writer.append($0) }
    }

    /// Publishes the file.
    package consuming func finish() throws { try writer.finish() }
}
