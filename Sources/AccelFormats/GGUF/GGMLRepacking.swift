import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// The blocks of a type of ggml for the codes and scales of another codec. The weights stay the same numbers: a code of 4 or 5 bits
/// times a scale of float16, plus a bias of float16 where the type has one. A scale of more weights than 32 is repeated.
struct GGMLRepacking {
    let type: GGMLType
    private let codes: BlockScaledCodes
    /// Weights of a block.
    private static let elements = 32

    /// - Returns: nil if no type has such codes.
    init?(of codec: any WeightCodec, _ shape: Shape) {
        // Scales of the weight's own type have it once they are stored.
        guard let codec = codec as? any BlockScaledCodec, shape.columns % Self.elements == 0,
            [codec.values["scales"], codec.values["type"]].contains(ScaleType.float16.rawValue)
        else { return nil }
        codes = codec.blockScaledCodes(shape)
        guard codes.scaleType == .float16, codes.rowsPerScale == 1, !codes.hasScalesToLoad,
            codes.block % Self.elements == 0
        else { return nil }
        let name: String
        switch (codes.bits, codes.values, codes.shifts) {
        case (4, .signed, .none): name = "Q4_0"
        case (4, .biased, .biases): name = "Q4_1"
        case (5, .biased, .biases): name = "Q5_1"
        default: return nil
        }
        guard let type = GGMLType.named(name) else { return nil }
        self.type = type
    }

    private var hasBiases: Bool { if case .biases = codes.shifts { true } else { false } }
    /// Q4_0 counts codes from -8 on: the sign bit of two's complement is flipped.
    private var flipped: UInt8 { if case .signed = codes.values { 8 } else { 0 } }

    /// The offsets in a block: the scale, the bias if the type has one, bit 4 of each code of 5 bits in a number of 32 bits, then a byte
    /// for the lower bits of the codes i and i + 16.
    private var bias: Int { MemoryLayout<UInt16>.size }
    private var highBits: Int { hasBiases ? 2 * bias : bias }
    private var lowBits: Int { highBits + (codes.bits == 5 ? MemoryLayout<UInt32>.size : 0) }

    /// A block of 32 weights, and where its codes and its scale are in the sections of the codec.
    private struct Place {
        /// The offset of the block.
        let block: Int
        /// The offset of its first code. A block starts at a whole byte.
        let codes: Int
        /// The offset of its scale, and of its bias.
        let scale: Int
    }

    private func forEachPlace(_ shape: Shape, _ body: (Place) -> Void) {
        let perRow = shape.columns / Self.elements
        for index in 0..<shape.rows * perRow {
            let (row, column) = (index / perRow, index % perRow * Self.elements)
            body(
                Place(
                    block: index * type.bytes, codes: row * codes.rowBytes + column * codes.bits / 8,
                    scale: (row * codes.blocks + column / codes.block) * bias))
        }
    }

    /// Returns the blocks of a weight.
    func blocks(of weight: CompressedTensor) -> ByteView {
        let target = ByteBuffer(count: weight.shape.count / Self.elements * type.bytes)
        let (hasBiases, half) = (hasBiases, Self.elements / 2)
        weight.sections[0].withBytes { packed in
            weight.sections[1].withBytes { scales in
                weight.sections[hasBiases ? 2 : 1].withBytes { biases in
                    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.elements) { block in
                        forEachPlace(weight.shape) { place in
                            for byte in 0..<bias {
                                target.bytes[place.block + byte] = scales[place.scale + byte]
                                if hasBiases { target.bytes[place.block + bias + byte] = biases[place.scale + byte] }
                            }
                            unpack(packed, from: place.codes, into: block)
                            var high: UInt32 = 0
                            for index in block.indices { high |= UInt32(block[index] >> 4) << index }
                            if codes.bits == 5 {
                                target.bytes.storeBytes(
                                    of: high.littleEndian, toByteOffset: place.block + highBits, as: UInt32.self)
                            }
                            for byte in 0..<half {
                                let (low, next) = (block[byte] ^ flipped, block[byte + half] ^ flipped)
                                target.bytes[place.block + lowBits + byte] = low & 15 | next << 4
                            }
                        }
                    }
                }
            }
        }
        return ByteView(target)
    }

    /// Returns the sections of the codec for the blocks of a weight; nil if blocks that share a scale have several.
    func sections(of blocks: ByteView, _ shape: Shape) -> [ByteView]? {
        let packed = ByteBuffer(count: shape.rows * codes.rowBytes)
        let shared = (0..<(hasBiases ? 2 : 1)).map { _ in
            ByteBuffer(count: shape.rows * codes.blocks * bias)
        }
        var isShared = true
        let half = Self.elements / 2
        blocks.withBytes { blocks in
            forEachPlace(shape) { place in
                let isFirst = place.codes % codes.rowBytes * 8 / codes.bits % codes.block == 0
                for (index, section) in shared.enumerated() {
                    for byte in 0..<bias {
                        let given = blocks[place.block + index * bias + byte]
                        if isFirst { section.bytes[place.scale + byte] = given }
                        isShared = isShared && section.bytes[place.scale + byte] == given
                    }
                }
                let high =
                    codes.bits == 5
                    ? UInt32(
                        littleEndian: blocks.loadUnaligned(fromByteOffset: place.block + highBits, as: UInt32.self))
                    : 0
                var (bits, count, at) = (UInt32(0), 0, place.codes)
                for index in 0..<Self.elements {
                    let byte = blocks[place.block + lowBits + index % half]
                    let code = (index < half ? byte & 15 : byte >> 4) ^ flipped | UInt8(high >> index & 1) << 4
                    bits |= UInt32(code) << count
                    count += codes.bits
                    if count >= 8 {
                        packed.bytes[at] = UInt8(truncatingIfNeeded: bits)
                        (bits, count, at) = (bits >> 8, count - 8, at + 1)
                    }
                }
            }
        }
        return isShared ? [ByteView(packed)] + shared.map { ByteView($0) } : nil
    }

    /// Reads the codes of a block, lowest bits first.
    private func unpack(
        _ packed: UnsafeRawBufferPointer, from start: Int, into block: UnsafeMutableBufferPointer<UInt8>
    ) {
        var (at, bits, count) = (start, UInt32(0), 0)
        let mask = (UInt32(1) << codes.bits) - 1
        for index in block.indices {
            if count < codes.bits {
                bits |= UInt32(packed[at]) << count
                (at, count) = (at + 1, count + 8)
            }
            block[index] = UInt8(truncatingIfNeeded: bits & mask)
            (bits, count) = (bits >> codes.bits, count - codes.bits)
        }
    }
}
