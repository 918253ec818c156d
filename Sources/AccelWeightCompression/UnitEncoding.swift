import AccelByteIO
import AccelTensors

/// The encoding of a weight in the units of its codec, which do not depend on each other.
struct UnitEncoding: Sendable {
    let source: StoredTensor
    let codec: any WeightCodec
    private let layout: [SectionLayout]
    private let units: [Range<Int>]

    /// The bytes of computed rows that a thread holds at once.
    private static let heldBytes = 4 << 20

    /// - Throws: `FormatError`, naming the tensor, for a weight that the codec cannot store.
    init(_ source: StoredTensor, with codec: any WeightCodec) throws {
        if let reason = codec.unsupportedReason(elementType: source.elementType, shape: source.shape) {
            throw source.error("cannot be stored as \(codec.specification): \(reason)")
        }
        self.source = source
        self.codec = try codec.resolved(for: source)
        layout = try self.codec.agreedSections(
            elementType: source.elementType, shape: source.shape, name: source.name, file: source.file)
        units = self.codec.units(shape: source.shape)
    }

    /// The number of units.
    var count: Int { units.count }
    /// The sizes of the sections.
    var sizes: [Int] { layout.map(\.byteCount) }

    /// Returns the rows of a unit.
    func rows(of unit: Int) -> Range<Int> { units[unit] }

    /// Returns sections of zeros.
    func sections() throws -> [ByteBuffer] { try sizes.map { try ByteBuffer(allocating: $0, for: source.name) } }

    /// Encodes some units on up to `threads` threads; the bytes do not depend on their number.
    /// - Returns: the errors of the units.
    /// - Throws: `FormatError`, naming tensor and index, for a value that cannot be encoded.
    func encode(
        _ range: Range<Int>, given statistics: ActivationStatistics?, threads: Int, into sections: [ByteBuffer]
    ) throws -> [Distortion] {
        let own = Array(units[range])
        // A large tensor whose bytes are computed never is in memory as a whole, if its units are read by themselves.
        let isHeld = source.bytes.isDerived && source.bytes.count > Self.heldBytes && units.count > 1
        let whole = try isHeld ? source : source.resident(threads: threads)
        let groups = isHeld ? source.groups(of: own, atLeast: Self.heldBytes) : own.map { [$0] }
        let parts = try Parallel.map(groups.count, threads: threads) { index in
            let group = groups[index]
            let source =
                try isHeld ? whole.holding(group[0].lowerBound..<group[group.count - 1].upperBound) : whole
            return try group.map { unit in
                try codec.encode(
                    unit, of: source, given: statistics, threads: max(1, threads / units.count),
                    into: sections.map(\.bytes))
            }
        }.flatMap { $0 }
        if let failure = source.bytes.failure { throw failure }
        return parts
    }

    /// Returns the weight of sections whose units have all been encoded.
    func tensor(_ sections: [ByteBuffer]) throws -> CompressedTensor {
        try CompressedTensor(
            name: source.name, elementType: source.elementType, shape: source.shape, codec: codec,
            sections: sections.map { ByteView($0) }, file: source.file)
    }

    /// Returns a weight of which some units have been encoded.
    func part(_ sections: [ByteBuffer]) -> CompressedTensor {
        CompressedTensor(
            name: source.name, elementType: source.elementType, shape: source.shape, codec: codec,
            checked: sections.map { ByteView($0) })
    }
}
