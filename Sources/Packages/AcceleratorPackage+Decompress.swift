import ByteIO
import CKernels
public import Tensors
import WeightCompression

extension AcceleratorPackage {
    /// Writes the weights as a runtime sees them, under their original names, to a safetensors file. Rows are decoded
    /// and written block by block, so memory does not grow with the model.
    /// - Parameter elementType: float32 or float16.
    /// - Returns: how many tensors were written.
    /// - Throws: `RequestError` for another element type, `FormatError` for a value that float16 cannot hold.
    @discardableResult
    public func decompress(
        to path: String, as elementType: ElementType, progress: (_ tensor: String) -> Void = { _ in }
    ) throws -> Int {
        guard elementType == .float32 || elementType == .float16 else {
            throw RequestError("weights are decompressed to float32 or float16, not to \(elementType.rawValue)")
        }
        let coverage = try coverage
        let weights = coverage.map(\.tensor)
        let entries = weights.map {
            SafetensorsWriter.Entry(name: $0.name, elementType: elementType, shape: $0.shape)
        }
        var writer = try SafetensorsWriter(replacing: path, entries: entries, metadata: [("format", "pt")])
        for (weight, entry) in zip(weights, coverage) {
            progress(weight.name)
            let columns = max(weight.shape.columns, 1)
            let rowsAtOnce = max(1, (1 << 18) / columns)
            for start in stride(from: 0, to: weight.shape.columns == 0 ? 0 : weight.shape.rows, by: rowsAtOnce) {
                let rows = start..<min(start + rowsAtOnce, weight.shape.rows)
                var floats = [Float](repeating: 0, count: rows.count * columns)
                floats.withUnsafeMutableBufferPointer {
                    weight.codec.decode(rows, of: weight, into: $0)
                    entry.scaling?.inverse.apply(to: $0, rows: rows)
                }
                if elementType == .float32 {
                    try floats.withUnsafeBytes { try writer.append($0) }
                } else {
                    try weight.checkFloat16(floats, from: start * columns, file: self.path)
                    var halves = [UInt16](repeating: 0, count: floats.count)
                    ck_f32_to_f16(floats, &halves, floats.count)
                    try halves.withUnsafeBytes { try writer.append($0) }
                }
            }
        }
        try writer.finish()
        return weights.count
    }
}

extension CompressedTensor {
    /// - Throws: `FormatError` naming the first of `floats` that float16 rounds to infinity.
    fileprivate func checkFloat16(_ floats: [Float], from first: Int, file: String) throws {
        guard let index = floats.firstIndex(where: { !($0.magnitude < 65520) }) else { return }
        throw FormatError(
            file: file, place: .tensor(name, index: first + index),
            reason: "\(floats[index]) is beyond float16's largest number, 65504; decompress to float32")
    }
}
