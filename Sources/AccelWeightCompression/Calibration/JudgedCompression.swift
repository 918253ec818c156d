public import AccelByteIO
public import AccelTensors

/// A weight that is compressed with its activation statistics, in units of rows, which several processes may make.
///
/// For `gptq`, the weight is also compressed without calibration, and the result with the smaller error on the held-out
/// vectors is taken. (`weighted` is not judged weight by weight: a small difference between the errors of one weight's
/// outputs does not predict the error of the model's outputs.)
public struct JudgedCompression: Sendable {
    private let source: StoredTensor
    private let statistics: ActivationStatistics
    private let order: FeedbackOrder?
    /// With the statistics, and where they judge, without.
    private let encodings: [UnitEncoding]

    /// - Throws: `FormatError`, naming the tensor, for a weight that the codec cannot store.
    public init(_ source: StoredTensor, with codec: any WeightCodec, by statistics: ActivationStatistics) throws {
        (self.source, self.statistics) = (source, statistics)
        let isJudged = codec.method == .gptq && !statistics.heldOut.vectors.isEmpty
        order = codec.method == .gptq ? (codec as? any FeedbackCodec)?.feedbackOrder(source.shape) : nil
        encodings = try ([codec] + (isJudged ? [codec.dataFree] : [])).map { try UnitEncoding(source, with: $0) }
    }

    /// The number of units.
    public var unitCount: Int { encodings[0].count }
    private var isJudged: Bool { encodings.count > 1 }

    /// Makes some of the units, on up to `threads` threads; the result does not depend on their number.
    /// - Throws: `FormatError`, naming tensor and index, for a value that cannot be encoded.
    public func piece(_ range: Range<Int>, threads: Int) throws -> EncodedPiece {
        // On all threads, before each of them asks for it.
        if let order { _ = statistics.factor(order, threads: threads) }
        let heldOut = isJudged ? HeldOutErrors(statistics) : nil
        return EncodedPiece(
            units: range,
            variants: try encodings.map { encoding in
                let sections = try encoding.sections()
                let given = encoding.codec.method.usesStatistics ? statistics : nil
                let distortions = try encoding.encode(range, given: given, threads: threads, into: sections)
                let tensor = encoding.part(sections)
                let errors = try heldOut.map { heldOut in
                    try Parallel.map(range.count, threads: threads) { index in
                        heldOut.sum(of: tensor, from: source, rows: encoding.rows(of: range.lowerBound + index))
                    }
                }
                return .init(sections: sections, distortions: distortions, errors: errors ?? [])
            })
    }

    /// Returns the better encoding.
    /// - Parameter pieces: all units, in their order.
    /// - Throws: `FormatError` if the pieces are not those of this weight.
    public func joined(_ pieces: [EncodedPiece]) throws -> (tensor: CompressedTensor, distortion: Distortion) {
        let isWhole = pieces.reduce(0) { $1.units.lowerBound == $0 ? $1.units.upperBound : -1 } == unitCount
        guard isWhole, pieces.allSatisfy({ $0.variants.count == encodings.count }) else {
            throw source.error("pieces of its encoding are not those of this weight")
        }
        func error(_ variant: Int) -> Double { pieces.flatMap { $0.variants[variant].errors }.reduce(0, +) }
        let variant = !isJudged || error(0) <= error(1) ? 0 : 1
        let parts = pieces.map { $0.variants[variant] }
        let sections = try pieces.count == 1 ? parts[0].sections : encodings[variant].sections()
        if pieces.count > 1 { for part in parts { part.add(to: sections) } }
        let distortion = parts.flatMap(\.distortions).reduce(into: Distortion()) { $0.merge($1) }
        return (try encodings[variant].tensor(sections), distortion)
    }

    /// Reads a piece that another process has made; nil if it is damaged, or not one of this weight.
    public func piece(_ range: Range<Int>, from content: ByteView) -> EncodedPiece? {
        EncodedPiece(content, units: range, sizes: encodings.map(\.sizes), isJudged: isJudged)
    }
}

/// Some units of a weight's encoding.
public struct EncodedPiece: Sendable {
    let units: Range<Int>
    let variants: [Variant]

    struct Variant: Sendable {
        /// The whole sections; what belongs to other units is zero.
        let sections: [ByteBuffer]
        /// The distortion of each unit.
        let distortions: [Distortion]
        /// The errors of each unit's outputs for the held-out vectors; empty if they do not judge.
        let errors: [Double]

        /// Adds the bytes of these units to whole sections. A byte that units share is the same in all of them.
        func add(to target: [ByteBuffer]) {
            for (part, whole) in zip(sections, target) {
                guard let range = part.used else { continue }
                for index in range { whole.bytes[index] |= part.bytes[index] }
            }
        }
    }
}

extension ByteBuffer {
    /// The bytes from the first to the last that is not zero; nil if all are.
    fileprivate var used: Range<Int>? {
        guard let first = bytes.firstIndex(where: { $0 != 0 }), let last = bytes.lastIndex(where: { $0 != 0 }) else {
            return nil
        }
        return first..<last + 1
    }
}

/// A piece as bytes: little-endian 64-bit numbers, then the bytes of the sections that the units have set.
///
/// For each variant and section the first of these bytes and their number; then for each variant and unit the four numbers of its distortion,
/// and, if held-out vectors judge, its error. Fractions are the bits of float64.
extension EncodedPiece {
    /// The content of a file, in parts.
    public var content: [ByteView] {
        var (numbers, bytes): ([UInt64], [ByteView]) = ([], [])
        for section in variants.flatMap(\.sections) {
            let used = section.used ?? 0..<0
            numbers += [UInt64(used.lowerBound), UInt64(used.count)]
            bytes.append(ByteView(section)[used])
        }
        for variant in variants {
            for (index, distortion) in variant.distortions.enumerated() {
                numbers.append(UInt64(distortion.count))
                numbers += [distortion.squaredError, distortion.energy, distortion.maximumError].map(\.bitPattern)
                if !variant.errors.isEmpty { numbers.append(variant.errors[index].bitPattern) }
            }
        }
        return [ByteView(numbers.map(\.littleEndian))] + bytes
    }

    /// - Parameter sizes: the size of each section of each variant.
    init?(_ content: ByteView, units: Range<Int>, sizes: [[Int]], isJudged: Bool) {
        let perUnit = isJudged ? 5 : 4
        let (sections, count) = (sizes.joined().count, 2 * sizes.joined().count + sizes.count * units.count * perUnit)
        guard content.count >= 8 * count else { return nil }
        var numbers = [UInt64](repeating: 0, count: count)
        numbers.withUnsafeMutableBytes { content.read(0..<8 * count, into: $0) }
        numbers = numbers.map { UInt64(littleEndian: $0) }
        var (variants, section, unit, offset): ([Variant], Int, Int, Int) = ([], 0, 2 * sections, 8 * count)
        for sizes in sizes {
            var buffers: [ByteBuffer] = []
            for size in sizes {
                guard let first = Int(exactly: numbers[2 * section]),
                    let length = Int(exactly: numbers[2 * section + 1]),
                    length <= size, first <= size - length, length <= content.count - offset,
                    let buffer = try? ByteBuffer(allocating: size, for: "a piece of a weight")
                else { return nil }
                content.read(
                    offset..<offset + length,
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[first..<first + length]))
                buffers.append(buffer)
                (section, offset) = (section + 1, offset + length)
            }
            var (distortions, errors): ([Distortion], [Double]) = ([], [])
            for _ in units {
                guard let weights = Int(exactly: numbers[unit]) else { return nil }
                let fractions = numbers[unit + 1..<unit + perUnit].map { Double(bitPattern: $0) }
                var distortion = Distortion()
                distortion.count = weights
                (distortion.squaredError, distortion.energy) = (fractions[0], fractions[1])
                distortion.maximumError = fractions[2]
                distortions.append(distortion)
                if isJudged { errors.append(fractions[3]) }
                unit += perUnit
            }
            variants.append(Variant(sections: buffers, distortions: distortions, errors: errors))
        }
        guard offset == content.count else { return nil }
        (self.units, self.variants) = (units, variants)
    }
}
