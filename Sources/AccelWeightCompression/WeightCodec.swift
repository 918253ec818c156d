public import AccelByteIO
public import AccelTensors

/// A way to store a weight. A weight of shape [d0, d1, ...] is seen as a matrix: d0 rows (output channels) of
/// d1 * d2 * ... columns; a vector or scalar is one row.
///
/// Every requirement handles whole rows; the loop over elements lives inside the codec.
public protocol WeightCodec: Sendable {
    /// The first word of a specification, e.g. `palette`.
    static var name: String { get }
    /// Goes up when the codec, by any of its options or methods, gives other bytes for the same weight. It is part of the
    /// key of each of its results, and of those of the codecs around it.
    static var numericsVersion: Int { get }
    /// The options it takes, with their defaults. Drives parsing, help, and errors.
    static var options: [CodecOption] { get }
    /// A specification may name another codec after a `+`, which stores what this one leaves.
    static var takesInner: Bool { get }
    /// - Throws: `RequestError` for options that do not go together.
    init(_ values: CodecOptionValues) throws

    /// The options, all of them. `specification` prints them.
    var values: CodecOptionValues { get }
    /// Why this codec cannot store such a tensor, e.g. "a vector has no channels to share a scale"; nil when it can.
    func objection(elementType: ElementType, shape: Shape) -> String?
    /// This codec with what the options leave to the weight filled in; what is stored names it.
    func settled(for source: StoredTensor) throws -> any WeightCodec
    /// Why sections of the right sizes cannot be those of a weight, e.g. an index beyond its row; nil where any bytes
    /// decode to something.
    func defect(in sections: [ByteView], shape: Shape) -> String?
    /// The byte sections that a stored weight consists of, in order.
    func sections(elementType: ElementType, shape: Shape) -> [SectionLayout]
    /// Ranges of rows that are encoded independently of each other, in order, covering all rows.
    func units(shape: Shape) -> [Range<Int>]
    /// Encodes one unit. `sections` are the whole sections, zeroed at first; a unit writes only its own part.
    /// - Parameter statistics: of the weight's inputs, where they are known; a codec without a use for them passes them over.
    /// - Throws: `FormatError` naming tensor and index for NaN or infinity.
    func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion
    /// The same, sharing out one unit over up to `threads` threads; the bytes do not depend on how many. Only codecs whose
    /// units may be very large have it.
    func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?, threads: Int,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion
    /// Bytes of memory, of any content and on a boundary of 16 bytes, that decoding so many rows at once takes besides the
    /// result.
    func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int
    /// Decodes whole rows to float32: `rows.count * columns` values. Allocates nothing.
    /// - Parameter scratch: `decodingScratchBytes` for that many rows.
    func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer)
    /// Proves that stored rows are what the codec would have chosen given its stored scales or palettes: lossless values
    /// are equal, |w - q| is at most half a step for values in range, a palette code is the nearest entry.
    /// - Returns: the index of the first element (row-major, in the whole tensor) that is not, with the reason.
    func violation(_ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor) -> (
        index: Int, reason: String
    )?
    /// What a stored weight consists of, for writers of other containers; nil when they cannot hold it.
    func form(of weight: CompressedTensor) -> WeightForm?
}

public struct SectionLayout: Equatable, Sendable {
    /// e.g. `codes`, `palettes`, `scales`, `zeros`
    public let name: String
    public let byteCount: Int
    public init(_ name: String, byteCount: Int) {
        self.name = name
        self.byteCount = byteCount
    }
}

extension WeightCodec {
    public static var takesInner: Bool { false }
    public func settled(for source: StoredTensor) throws -> any WeightCodec { self }
    public func defect(in sections: [ByteView], shape: Shape) -> String? { nil }
    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int { 0 }
    /// Decodes whole rows to float32, with scratch memory of its own.
    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>
    ) {
        let bytes = max(decodingScratchBytes(weight.shape, rows: rows.count), 1)
        withUnsafeTemporaryAllocation(byteCount: bytes, alignment: 16) { scratch in
            guard let scratch = scratch.baseAddress else { return }
            decode(rows, of: weight, into: target, scratch: scratch)
        }
    }
    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?, threads: Int,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        try encode(unit, of: source, given: statistics, into: sections)
    }
}

extension WeightCodec {
    public var name: String { Self.name }
    /// Canonical text, options that differ from their defaults only: `palette:bits=4,group=16`.
    public var specification: String { values.specification }
}

/// A weight's rows and columns as codecs see them: none in a matrix without elements, whatever its other extent is.
extension Shape {
    /// Whether scales and tables can belong to output channels. A vector or scalar, such as a bias or a norm's gain, has none:
    /// schemes that need them leave it as it is in the checkpoint, by design.
    public var hasOutputChannels: Bool { rank >= 2 }

    public var rows: Int { rank < 2 ? 1 : columns == 0 ? 0 : dimensions[0] }
    public var columns: Int {
        if rank < 2 { return rank == 0 ? 1 : dimensions[0] }
        // Asked for in the loops of decoding, which allocate nothing: `contains` and `reduce` may.
        for axis in 0..<rank where dimensions[axis] == 0 { return 0 }
        var product = 1
        for axis in 1..<rank { product *= dimensions[axis] }
        return product
    }

    /// All rows, cut into blocks of about `elements` elements.
    func rowBlocks(of elements: Int) -> [Range<Int>] {
        let step = max(1, elements / max(columns, 1))
        return stride(from: 0, to: rows, by: step).map { $0..<min($0 + step, rows) }
    }
}

extension WeightCodec {
    /// Why a tensor cannot share scales or tables; nil when it can.
    func quantizationObjection(_ elementType: ElementType, _ shape: Shape) -> String? {
        if !elementType.isFloatingPoint { return "\(elementType.rawValue) elements are not floating point" }
        if !shape.hasOutputChannels { return "a \(shape.rank == 0 ? "scalar" : "vector") has no output channels" }
        if shape.count == 0 { return "it has no elements" }
        return nil
    }
}
