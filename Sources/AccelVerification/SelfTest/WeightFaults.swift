import AccelTensors
import AccelWeightCompression

extension WeightFault {
    /// The first output channel (or the first group that shares a table) is 1.1 or 3 times too large.
    static let scaledChannel = WeightFault(
        name: "scale a channel",
        detail:
            "one channel's scale, table or values times 1.1 (with method=gptq: 3; a scale of one byte: its neighbour, or 16 further)"
    ) { weight, _ in
        let factor: Float = weight.hasFreedom ? 3 : 1.1
        if weight.codec is any MicroscaledCodec {
            return weight.index(of: "scales").map { [weight.movingFirstByte(of: $0, by: weight.hasFreedom ? 16 : 1)] }
        }
        if let changed = weight.scaled("scales", 0..<1, by: factor) { return [changed] }
        if let index = weight.index(of: "palettes"), let type = weight.numbers(in: "palettes") {
            // Integer entries follow their scale.
            let entries =
                weight.option("entries") == "int8" ? 1 : weight.option("bits").flatMap { Int($0) }.map { 1 << $0 }
            let all = weight.sections[index].count / type.byteCount
            return weight.scaled("palettes", 0..<min(entries ?? all, all), by: factor).map { [$0] }
        }
        if let codec = weight.codec as? GGMLCodec {
            return [weight.scaledHalf(at: codec.format.scaleOffset, by: factor)].compactMap { $0 }
        }
        return weight.scaled("values", 0..<weight.shape.columns, by: factor).map { [$0] }
    }

    /// The two codes of each byte in the first row are swapped, which is the nibble order of another format.
    static let swappedNibbles = WeightFault(
        name: "swap nibbles", detail: "the two 4-bit codes of each byte in a row are swapped"
    ) { weight, _ in
        guard let codes = weight.index(of: "codes"), weight.codeBits == 4 else { return nil }
        var copy = weight
        for index in 0..<weight.rowBytes {
            let byte = copy.sections[codes][index]
            copy.sections[codes][index] = byte << 4 | byte >> 4
        }
        return [copy]
    }

    /// The first zero point is one too high, or too high by half the range of codes.
    static let shiftedZeroPoint = WeightFault(
        name: "shift a zero point",
        detail: "one zero point is off by one (with method=gptq: by half the range of codes)"
    ) { weight, _ in
        guard let zeros = weight.index(of: "zeros"), let first = weight.sections[zeros].first else { return nil }
        var copy = weight
        // A zero point of 4 bits is the low half of its byte; one of 8 bits is the whole byte.
        let step: UInt8 = weight.hasFreedom ? 1 << UInt8(weight.codeBits - 1) : 1
        copy.sections[zeros][0] = weight.codeBits == 4 ? first & 0xF0 | (first &+ step) & 0xF : first &+ step
        return [copy]
    }

    /// The first row is rotated by one byte (or value).
    static let rotatedRow = WeightFault(name: "rotate a row", detail: "a row's codes or values move on by one column") {
        weight, _ in
        guard weight.rowBytes > weight.unit else { return nil }
        var copy = weight
        let row = weight.sections[weight.elements].prefix(weight.rowBytes)
        copy.sections[weight.elements].replaceSubrange(
            0..<weight.rowBytes, with: Array(row.dropFirst(weight.unit)) + Array(row.prefix(weight.unit)))
        return [copy]
    }

    /// A square block at the start is transposed.
    static let transposedBlock = WeightFault(
        name: "transpose a group", detail: "a square block of codes or values is transposed"
    ) { weight, _ in
        let size = min(weight.shape.rows, weight.unit == 0 ? 0 : weight.rowBytes / weight.unit, 16)
        guard size > 1 else { return nil }
        var copy = weight
        for row in 0..<size {
            for column in 0..<size {
                for byte in 0..<weight.unit {
                    copy.sections[weight.elements][row * weight.rowBytes + column * weight.unit + byte] =
                        weight.sections[weight.elements][column * weight.rowBytes + row * weight.unit + byte]
                }
            }
        }
        return [copy]
    }

    /// The last row is zeros, as if it was never written.
    static let droppedRow = WeightFault(name: "drop a row", detail: "the last row's codes or values are zeros") {
        weight, _ in
        let bytes = weight.sections[weight.elements].count
        guard weight.rowBytes > 0 else { return nil }
        var copy = weight
        copy.sections[weight.elements].replaceSubrange(
            bytes - weight.rowBytes..<bytes, with: [UInt8](repeating: 0, count: weight.rowBytes))
        return [copy]
    }

    /// One bit in the middle is flipped.
    static let flippedBit = WeightFault(
        name: "flip a bit",
        detail: "the lowest bit of one code or value is the other one (with method=gptq: the highest of a code)"
    ) { weight, _ in
        let units = weight.sections[weight.elements].count / max(weight.unit, 1)
        guard units > 0 else { return nil }
        var copy = weight
        let offset = units / 2 * weight.unit
        if weight.hasFreedom, let format = (weight.codec as? GGMLCodec)?.format {
            let (index, bit) = format.highestCodeBit
            copy.sections[weight.elements][offset - offset % format.bytes + index] ^= 1 << UInt8(bit)
            return [copy]
        }
        let before = 8 * (offset % max(weight.rowBytes, 1))
        let bit = weight.hasFreedom ? (0..<8).first { (before + $0 + 1) % max(weight.codeBits, 1) == 0 } ?? 0 : 0
        copy.sections[weight.elements][offset] ^= 1 << UInt8(bit)
        return [copy]
    }

    /// Two weights of the same shape hold each other's bytes.
    static let swappedWeights = WeightFault(
        name: "swap two weights", detail: "two weights of equal shape hold each other's bytes"
    ) { weight, others in
        guard let other = others.first(where: weight.hasLayout).map(StoredBytes.init) else { return nil }
        var (first, second) = (weight, other)
        swap(&first.sections, &second.sections)
        return [first, second]
    }

    /// A weight holds the bytes of another one, as after a wrong offset or with a stale file.
    static let staleWeight = WeightFault(name: "stale weight", detail: "a weight holds the bytes of another one") {
        weight, others in
        guard let other = others.last(where: weight.hasLayout).map(StoredBytes.init) else { return nil }
        var copy = weight
        copy.sections = other.sections
        return [copy]
    }

    /// A weight is stored under a name that the model does not have.
    static let renamedWeight = WeightFault(
        name: "rename a weight", detail: "a weight is missing under its name, and an unknown one is there"
    ) { weight, _ in
        var copy = weight
        copy.name += ".renamed"
        return [copy]
    }
}
