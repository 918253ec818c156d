import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// A weight of a module: the constants that it is made of, and the operations that decompress them.
indirect enum CoreAIWeight: Sendable {
    /// Elements of a resource or of an operation.
    case constant(ByteView, isSplat: Bool, isPacked: Bool, shape: [Int], CoreAIElement)
    /// The same numbers in another type.
    case cast(CoreAIWeight)
    /// `scale * (data - zero) + minimum`.
    case scaled(CoreAIWeight, scale: CoreAIWeight, zero: CoreAIWeight, minimum: CoreAIWeight)
    case lookedUp(CoreAIWeight, table: CoreAIWeight, axis: Int)
    /// Values where a mask has ones, row-major.
    case spread(CoreAIWeight, mask: CoreAIWeight)

    /// The shape of the decompressed elements.
    var shape: [Int] {
        switch self {
        case .constant(_, _, _, let shape, _): return shape
        case .cast(let weight): return weight.shape
        case .scaled(let data, _, _, _): return data.shape
        case .spread(_, let mask): return mask.shape
        case .lookedUp(let codes, let table, let axis):
            var shape = codes.shape
            if shape.indices.contains(axis) {
                shape[axis] = shape[axis].multipliedReportingOverflow(by: table.shape.last ?? 1).partialValue
            }
            return shape
        }
    }

    /// The storage scheme in words.
    var scheme: String {
        switch self {
        case .constant(_, _, _, _, let element): "\(element)"
        case .cast(let weight): weight.scheme
        case .scaled(let data, _, _, _): "\(data.scheme), scaled"
        case .lookedUp(let codes, _, _): "\(codes.scheme), looked up"
        case .spread(let values, _): "\(values.scheme), sparse"
        }
    }

    /// Bits of the codes for one weight.
    var codeBits: Double {
        switch self {
        case .constant(_, _, _, _, let element): Double(element.bits)
        case .cast(let weight): weight.codeBits
        case .scaled(let data, _, _, _): data.codeBits
        case .lookedUp(let codes, let table, _): codes.codeBits / Double(max(table.shape.last ?? 1, 1))
        case .spread(let values, _): values.codeBits
        }
    }

    /// Bits of the resources.
    var storedBits: Int {
        switch self {
        case .constant(let bytes, _, let isPacked, _, _): isPacked ? bytes.count * 8 : 0
        case .cast(let weight): weight.storedBits
        case .scaled(let data, let scale, let zero, let minimum):
            data.storedBits + scale.storedBits + zero.storedBits + minimum.storedBits
        case .lookedUp(let codes, let table, _): codes.storedBits + table.storedBits
        case .spread(let values, let mask): values.storedBits + mask.storedBits
        }
    }
}

/// The reason why a weight cannot be decompressed.
struct CoreAIWeightError: Error {
    let reason: String
}

extension CoreAIWeight {
    /// Returns the decompressed elements.
    /// - Throws: `CoreAIWeightError` if the parts do not fit.
    func floats() throws -> [Float] {
        switch self {
        case .constant(let bytes, let isSplat, let isPacked, let shape, let element):
            return try Self.floats(bytes, isSplat, isPacked, Self.count(shape), element)
        case .cast(let weight): return try weight.floats()
        case .scaled(let data, let scale, let zero, let minimum):
            guard zero.shape == scale.shape, minimum.shape == scale.shape else {
                throw CoreAIWeightError(reason: "scales, zeros and minima of unlike shapes")
            }
            let own = try data.floats()
            let block = try Self.blocks(scale.shape, of: data.shape)
            if own.isEmpty { return own }
            let (scales, zeros, minima) = (try scale.floats(), try zero.floats(), try minimum.floats())
            return own.indices.map { index in
                let at = block(index)
                return scales[at] * (own[index] - zeros[at]) + minima[at]
            }
        case .lookedUp(let codes, let table, let axis):
            guard try Self.count(table.shape) <= 1 << 28 else {
                throw CoreAIWeightError(reason: "a table of \(table.shape)")
            }
            let own = try codes.floats()
            return own.isEmpty ? [] : try Self.lookedUp(own, codes.shape, try table.floats(), table.shape, axis)
        case .spread(let values, let mask):
            guard try Self.count(values.shape) <= Self.count(mask.shape) else {
                throw CoreAIWeightError(reason: "more values than bits of the mask")
            }
            let (values, mask) = (try values.floats(), try mask.floats())
            guard mask.count(where: { $0 != 0 }) == values.count else {
                throw CoreAIWeightError(reason: "a mask that keeps another number of values than there are")
            }
            var next = 0
            return mask.map { bit in
                guard bit != 0 else { return 0 }
                next += 1
                return values[next - 1]
            }
        }
    }

    private static func count(_ shape: [Int]) throws -> Int {
        guard let count = Shape(shape).checkedCount, count >= 0, count < 1 << 40 else {
            throw CoreAIWeightError(reason: "a shape of \(shape)")
        }
        return count
    }

    /// Returns the number of the block of an element, where each axis has whole blocks.
    private static func blocks(_ grid: [Int], of shape: [Int]) throws -> (Int) -> Int {
        guard grid.count == shape.count, zip(grid, shape).allSatisfy({ $0 > 0 && $1 % $0 == 0 }) else {
            throw CoreAIWeightError(reason: "blocks of \(grid) do not divide \(shape)")
        }
        return { index in
            var (rest, at, stride) = (index, 0, 1)
            for axis in shape.indices.reversed() {
                let position = rest % shape[axis]
                rest /= shape[axis]
                at += position / (shape[axis] / grid[axis]) * stride
                stride *= grid[axis]
            }
            return at
        }
    }

    private static func lookedUp(
        _ codes: [Float], _ shape: [Int], _ table: [Float], _ tableShape: [Int], _ axis: Int
    ) throws -> [Float] {
        guard tableShape.count == shape.count + 2, shape.indices.contains(axis), let width = tableShape.last, width > 0,
            width <= 1 << 16
        else { throw CoreAIWeightError(reason: "a table of \(tableShape) for codes of \(shape)") }
        let entries = tableShape[shape.count]
        let group = try blocks(Array(tableShape[..<shape.count]), of: shape)
        let inner = shape[(axis + 1)...].reduce(1, *)
        let (count, overflow) = codes.count.multipliedReportingOverflow(by: width)
        guard !overflow, count < 1 << 40 else { throw CoreAIWeightError(reason: "too many elements") }
        try MachineMemory.require(count * 4, for: "a looked up weight")
        var result = [Float](repeating: 0, count: count)
        for (index, code) in codes.enumerated() {
            guard let code = Int(exactly: code), (0..<entries).contains(code) else {
                throw CoreAIWeightError(reason: "code \(code) of \(entries)")
            }
            let start = (group(index) * entries + code) * width
            // Along the axis an element becomes `width` elements.
            let first = index / inner * inner * width + index % inner
            for part in 0..<width { result[first + part * inner] = table[start + part] }
        }
        return result
    }

    private static func floats(
        _ bytes: ByteView, _ isSplat: Bool, _ isPacked: Bool, _ count: Int, _ element: CoreAIElement
    ) throws -> [Float] {
        let bits = isPacked ? element.bits : max(element.bits, 8)
        let stored = isSplat ? 1 : count
        guard bytes.count == (stored * bits + 7) / 8 else {
            throw CoreAIWeightError(reason: "\(bytes.count) bytes for \(stored) elements of \(element)")
        }
        try MachineMemory.require(count * 4, for: "a decompressed weight")
        return bytes.withBytes { raw in
            func word(_ index: Int) -> UInt64 {
                var (word, first) = (UInt64(0), index * bits)
                if bits >= 8 {
                    for byte in 0..<bits / 8 { word |= UInt64(raw[first / 8 + byte]) << UInt64(8 * byte) }
                    return word
                }
                for bit in 0..<bits {
                    word |= UInt64(raw[first / 8] >> UInt8(first % 8) & 1) << UInt64(bit)
                    first += 1
                }
                return word
            }
            let values = (0..<stored).map { element.number(word($0)) }
            return isSplat ? [Float](repeating: values[0], count: count) : values
        }
    }
}

extension CoreAIElement {
    /// Returns the number of which an element has these bits.
    fileprivate func number(_ word: UInt64) -> Float {
        switch self {
        case .float16: return Half.value(UInt16(truncatingIfNeeded: word))
        case .bfloat16: return Float(bitPattern: UInt32(truncatingIfNeeded: word) << 16)
        case .float32: return Float(bitPattern: UInt32(truncatingIfNeeded: word))
        case .float64: return Float(Double(bitPattern: word))
        case .float8e4m3: return Float8.e4m3.values[Int(word & 255)]
        case .float8e5m2: return Float8.e5m2.values[Int(word & 255)]
        case .int2, .int4, .int8, .int16, .int32, .int64:
            let shift = UInt64(64 - bits)
            return Float(Int64(bitPattern: word << shift) >> Int64(shift))
        default: return Float(word & (bits == 64 ? .max : 1 << UInt64(bits) - 1))
        }
    }
}
