import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// A weight that stays compressed: each call decodes the rows that it needs into scratch memory.
final class StoredWeight: @unchecked Sendable {
    // The stored bytes are never written.
    let tensor: CompressedTensor
    let rows: Int
    let columns: Int
    /// Where the elements lie when they are stored as float32 on a boundary of 4 bytes. The tensor keeps them.
    let floatsInPlace: UnsafePointer<Float>?

    init(_ tensor: CompressedTensor) {
        self.tensor = tensor
        (rows, columns) = (tensor.shape.rows, tensor.shape.columns)
        floatsInPlace = Self.floatsInPlace(of: tensor)
    }

    /// The weight encoding, e.g. `int4:block=64`.
    var encoding: String { tensor.codec.specification }
    var shape: Shape { tensor.shape }
    /// All elements, row-major.
    func floats() -> [Float] { tensor.floats() }

    private static func floatsInPlace(of tensor: CompressedTensor) -> UnsafePointer<Float>? {
        guard tensor.codec is Float32Codec || (tensor.codec is StoredCodec && tensor.elementType == .float32),
            let section = tensor.sections.first
        else { return nil }
        return section.withBytes { bytes in
            guard let start = bytes.baseAddress, Int(bitPattern: start) % MemoryLayout<Float>.alignment == 0 else {
                return nil
            }
            return start.assumingMemoryBound(to: Float.self)
        }
    }

    /// Floats of scratch memory that decoding so many rows at once takes.
    func scratchFloats(rows: Int) -> Int {
        (tensor.codec.decodingScratchBytes(tensor.shape, rows: rows) + 3) / 4
    }

    /// Decodes some rows to `rows.count * columns` floats.
    func decode(
        _ rows: Range<Int>, into target: UnsafeMutablePointer<Float>, scratch: UnsafeMutablePointer<Float>
    ) {
        tensor.codec.decode(
            rows, of: tensor, into: UnsafeMutableBufferPointer(start: target, count: rows.count * columns),
            scratch: UnsafeMutableRawPointer(scratch))
    }

    /// Decodes some rows into memory of their own, in pieces.
    func decoding(_ rows: Range<Int>, to target: MemoryLocation, elements: Int = 1 << 14) -> KernelStep {
        let step = max(1, elements / max(columns, 1))
        return KernelStep((rows.count + step - 1) / step, scratchFloats: scratchFloats(rows: step)) {
            [self] piece, scratch in
            let part = piece * step..<min((piece + 1) * step, rows.count)
            decode(
                rows.lowerBound + part.lowerBound..<rows.lowerBound + part.upperBound,
                into: target.start.assumingMemoryBound(to: Float.self) + part.lowerBound * columns, scratch: scratch)
        }
    }
}
