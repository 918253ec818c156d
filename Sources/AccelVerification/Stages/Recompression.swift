import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// A tensor of the checkpoint, compressed again. Conversion is deterministic, so that a stored weight has to equal it
/// byte for byte if the checkpoint and the scheme alone determine the codes.
struct Recompression {
    let tensor: CompressedTensor
    let distortion: Distortion

    /// - Parameters:
    ///   - source: the tensor as it was compressed, that is with its scaled channels.
    ///   - codec: the codec of the stored weight.
    /// - Returns: nil if codes depend on calibration data too (`method=gptq`, `method=weighted`).
    /// - Throws: `FormatError` if the codec cannot store the tensor.
    init?(of source: StoredTensor, as codec: any WeightCodec, threads: Int) throws {
        guard Self.determines(codec) else { return nil }
        (tensor, distortion) = try CompressedTensor.compressing(source, with: codec, threads: threads)
    }

    /// Returns whether the checkpoint alone determines the bytes that a codec stores.
    static func determines(_ codec: any WeightCodec) -> Bool { !codec.method.usesStatistics }

    /// Returns the first difference of a stored weight as text; nil if its bytes equal a new compression of the tensor.
    func failureReason(for stored: CompressedTensor) -> String? {
        guard stored.codec.specification == tensor.codec.specification else {
            return "is stored as \(stored.codec.specification), but compressing the checkpoint's tensor again gives "
                + tensor.codec.specification
        }
        let names = tensor.codec.sections(elementType: tensor.elementType, shape: tensor.shape).map(\.name)
        for (name, (found, wanted)) in zip(names, zip(stored.sections, tensor.sections)) {
            guard let index = found.firstDifference(from: wanted) else { continue }
            return
                "\(name): byte \(index) of \(wanted.count) is not what compressing the checkpoint's tensor again gives"
        }
        return stored.sections.count == tensor.sections.count ? nil : "has \(stored.sections.count) sections"
    }
}

extension ByteView {
    /// Returns whether two views hold equal bytes.
    func isSame(as other: ByteView) -> Bool { firstDifference(from: other) == nil }

    /// Returns the first offset at which two views differ; the end of the shorter one if it is a prefix of the other.
    func firstDifference(from other: ByteView) -> Int? {
        withBytes { own in
            other.withBytes { other in
                if own.baseAddress == other.baseAddress, own.count == other.count { return nil }
                let common = min(own.count, other.count)
                var start = 0
                // Eight bytes at a time: views are large, and seldom differ.
                while start + 8 <= common,
                    own.loadUnaligned(fromByteOffset: start, as: UInt64.self)
                        == other.loadUnaligned(fromByteOffset: start, as: UInt64.self)
                { start += 8 }
                if let index = (start..<common).first(where: { own[$0] != other[$0] }) { return index }
                return own.count == other.count ? nil : common
            }
        }
    }
}
