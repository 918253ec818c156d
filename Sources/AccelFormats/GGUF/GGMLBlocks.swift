import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Between the blocks of a type and the sections of the codec that stands for it.
extension GGMLType {
    /// Returns the blocks of a weight whose codec the type holds, in whole blocks.
    func blocks(of weight: CompressedTensor) -> ByteView {
        if weight.codec is MXFP4Codec { return Self.microscaled(weight.sections[0], weight.sections[1]) }
        return GGMLRepacking(of: weight.codec, weight.shape)?.blocks(of: weight) ?? weight.sections[0]
    }

    /// Returns the sections of the type's own codec for the blocks of a tensor.
    func sections(of blocks: ByteView) -> [ByteView] {
        storage == .codec(MXFP4Codec.name) ? Self.codesAndScales(blocks) : [blocks]
    }

    /// Returns the codec of a tensor; nil if it does not have the tensor's blocks. Blocks of the type's own codec are not read.
    /// - Parameter codec: what made the codes.
    func codec(of blocks: ByteView, _ shape: Shape, madeBy codec: any WeightCodec) -> (any WeightCodec)? {
        storage == .codec(codec.name) ? codec.withoutImportance : codes(blocks, of: shape, by: codec)?.codec
    }

    /// Returns the codec of a tensor, and its sections for the tensor's blocks.
    /// - Parameter codec: what made the codes.
    /// - Returns: nil if the codec does not have such blocks.
    func codes(
        _ blocks: ByteView, of shape: Shape, by codec: any WeightCodec
    ) -> (codec: any WeightCodec, sections: [ByteView])? {
        if storage == .codec(codec.name) { return (codec.withoutImportance, sections(of: blocks)) }
        guard let repacking = GGMLRepacking(of: codec, shape), repacking.type == self,
            let sections = repacking.sections(of: blocks, shape)
        else { return nil }
        return (codec, sections)
    }

    /// Bytes of the codes of 32 weights.
    private static let codeBytes = 16

    /// Joins codes and scales to blocks: a scale (E8M0), and 16 bytes with the codes of weights i and i + 16. Codes of neighbours share a
    /// byte in the codec's section.
    private static func microscaled(_ codes: ByteView, _ scales: ByteView) -> ByteView {
        let target = ByteBuffer(count: scales.count * (codeBytes + 1))
        codes.withBytes { codes in
            scales.withBytes { scales in
                for block in scales.indices {
                    let (from, to) = (block * codeBytes, block * (codeBytes + 1))
                    target.bytes[to] = scales[block]
                    for byte in 0..<codeBytes / 2 {
                        let (low, high) = (codes[from + byte], codes[from + byte + codeBytes / 2])
                        target.bytes[to + 1 + 2 * byte] = low & 15 | high << 4
                        target.bytes[to + 2 + 2 * byte] = low >> 4 | high & 0xF0
                    }
                }
            }
        }
        return ByteView(target)
    }

    private static func codesAndScales(_ blocks: ByteView) -> [ByteView] {
        let count = blocks.count / (codeBytes + 1)
        let (codes, scales) = (ByteBuffer(count: count * codeBytes), ByteBuffer(count: count))
        blocks.withBytes { blocks in
            for block in 0..<count {
                let (from, to) = (block * (codeBytes + 1), block * codeBytes)
                scales.bytes[block] = blocks[from]
                for byte in 0..<codeBytes / 2 {
                    let (even, odd) = (blocks[from + 1 + 2 * byte], blocks[from + 2 + 2 * byte])
                    codes.bytes[to + byte] = even & 15 | odd << 4
                    codes.bytes[to + byte + codeBytes / 2] = even >> 4 | odd & 0xF0
                }
            }
        }
        return [ByteView(codes), ByteView(scales)]
    }
}

extension WeightCodec {
    /// The codec as a file records it, which does not have the importance that a weighted search had.
    fileprivate var withoutImportance: any WeightCodec { method == .weighted ? dataFree : self }
}
