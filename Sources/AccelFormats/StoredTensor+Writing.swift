import AccelByteIO
import AccelTensors
import AccelWeightCompression

extension StoredTensor {
    /// Calls `body` with the elements converted to `type`, which is float32 or float16.
    /// - Throws: `RequestError` for another type, `FormatError` for a number that float16 cannot hold.
    func withBytes(as type: ElementType, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        switch type {
        case .float32: try floats().withUnsafeBytes(body)
        case .float16:
            let plain = elementType == .float32 ? self : StoredTensor(name: name, floats: floats(), shape: shape)
            let halves = try CompressedTensor.compressing(plain, with: Codecs.codec("float16"), threads: 1).tensor
            for section in halves.sections { try section.withBytes(body) }
        default:
            throw RequestError("weights are decompressed to float32 or float16, not to \(type.rawValue)")
        }
    }
}
