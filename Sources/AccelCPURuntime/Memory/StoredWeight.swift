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
    /// Where they lie when they are stored as float16 or bfloat16 on a boundary of 2 bytes.
    let halvesInPlace: UnsafePointer<UInt16>?
    /// The type of elements that are stored as they are; nil for others.
    let storedType: ElementType?
    /// The bytes of its packed forms, by layout.
    private let packedForms: [String: ByteView]

    init(_ tensor: CompressedTensor, packed: [String: ByteView] = [:]) {
        let tensor = tensor.resident
        self.tensor = tensor
        packedForms = packed
        (rows, columns) = (tensor.shape.rows, tensor.shape.columns)
        let type = (tensor.codec as? any FloatCodec).map { Swift.type(of: $0).storedType }
        storedType = type ?? (tensor.codec is StoredCodec ? tensor.elementType : nil)
        floatsInPlace = storedType == .float32 ? Self.inPlace(tensor, as: Float.self) : nil
        halvesInPlace =
            storedType == .float16 || storedType == .bfloat16 ? Self.inPlace(tensor, as: UInt16.self) : nil
    }

    /// The weight encoding, e.g. `int4:block=64`.
    var encoding: String { tensor.codec.specification }
    var shape: Shape { tensor.shape }
    /// All elements, row-major.
    func floats() -> [Float] { tensor.floats() }

    /// The start of a packed form; nil where the model has none, or one of another size.
    func packed(_ layout: String, byteCount: Int) -> PackedForm? {
        guard let form = packedForms[layout], form.count == byteCount else { return nil }
        return form.withBytes { bytes in
            guard let start = bytes.baseAddress, Int(bitPattern: start) % 64 == 0 else { return nil }
            return PackedForm(floats: UnsafeMutableRawPointer(mutating: start).assumingMemoryBound(to: Float.self))
        }
    }

    /// The start of elements that are stored as they are, as some type on its boundary.
    private static func inPlace<Element: BitwiseCopyable>(
        _ tensor: CompressedTensor, as type: Element.Type
    ) -> UnsafePointer<Element>? {
        tensor.sections.first?.withBytes { bytes in
            guard let start = bytes.baseAddress, Int(bitPattern: start) % MemoryLayout<Element>.alignment == 0 else {
                return nil
            }
            return start.assumingMemoryBound(to: Element.self)
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

/// The start of a packed weight, which the stored weight keeps.
struct PackedForm: @unchecked Sendable {
    // Nobody writes there.
    let floats: UnsafeMutablePointer<Float>
}
