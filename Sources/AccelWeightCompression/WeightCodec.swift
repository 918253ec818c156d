public import AccelByteIO
public import AccelTensors

/// A storage scheme for weights. A weight of shape [d0, d1, ...] is viewed as a matrix: d0 rows (output channels) of
/// d1 * d2 * ... columns; a vector or scalar is one row.
///
/// Every requirement handles whole rows; the loop over elements is inside the codec.
public protocol WeightCodec: Sendable {
    /// The schemes that values of this type encode, in the order of help texts.
    static var schemes: [CodecScheme] { get }
    /// Increases when any option or method of the codec gives other bytes for the same weight. It is part of the cache
    /// key of each result of the codec and of the codecs around it.
    static var numericsVersion: Int { get }
    /// A specification may name an inner codec after a `+`.
    static var takesInner: Bool { get }
    /// Creates the codec of the scheme that the values name.
    /// - Throws: `RequestError` for options that exclude each other.
    init(_ values: CodecOptionValues) throws

    /// The value of every option.
    var values: CodecOptionValues { get }
    /// Returns why the codec does not support a tensor, such as "a vector has no output channels"; nil if it does.
    func unsupportedReason(elementType: ElementType, shape: Shape) -> String?
    /// Returns the codec with the options that depend on the weight filled in; packages store their values.
    func resolved(for source: StoredTensor) throws -> any WeightCodec
    /// Returns why sections of the right sizes cannot be an encoding, such as an index outside of its row; nil if they
    /// can.
    func corruption(in sections: [ByteView], shape: Shape) -> String?
    /// Returns the byte sections of an encoded weight, in order.
    func sections(elementType: ElementType, shape: Shape) -> [SectionLayout]
    /// Returns the ranges of rows that are encoded independently; in order, covering all rows.
    func units(shape: Shape) -> [Range<Int>]
    /// Encodes one unit. `sections` are the whole sections, initially zero; a unit writes only its own part.
    /// - Parameter statistics: activation statistics of the weight, if known; codecs without calibration ignore them.
    /// - Throws: `FormatError`, naming tensor and index, for NaN or infinity.
    func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion
    /// Encodes one unit on up to `threads` threads; the bytes do not depend on their number. Only codecs with large
    /// units implement it.
    func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?, threads: Int,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion
    /// Returns the bytes of scratch memory for decoding `rows` rows, without the result. The memory has any content,
    /// and is aligned to 16 bytes.
    func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int
    /// Decodes whole rows to float32: `rows.count * columns` values. Does not allocate.
    /// - Parameter scratch: `decodingScratchBytes` for this number of rows.
    func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer)
    /// Checks that encoded rows are the best for their stored scales or palettes: lossless values are equal, |w - q| is
    /// at most half a step for values in range, a palette code is that of the nearest entry.
    /// - Returns: The index of the first element (row-major, in the whole tensor) that fails, with the reason; nil if
    ///   none does.
    func violation(_ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor) -> (
        index: Int, reason: String
    )?
    /// Returns the parts of an encoded weight, for exporters; nil if no other format can hold it.
    func encoding(of weight: CompressedTensor) -> WeightEncoding?
}

/// A codec type that is one scheme.
public protocol SingleSchemeCodec: WeightCodec {
    /// The first word of a specification, such as `palette`.
    static var name: String { get }
    /// The options with their defaults. Parsing, help and errors derive from this list.
    static var options: [CodecOption] { get }
}

extension SingleSchemeCodec {
    /// The scheme.
    public static var scheme: CodecScheme { CodecScheme(name, options: options, type: Self.self) }
    public static var schemes: [CodecScheme] { [scheme] }
}

/// A storage scheme by its name, with its options and the type of its codecs.
public struct CodecScheme: Sendable {
    /// The first word of a specification, such as `palette`.
    public let name: String
    /// The options with their defaults.
    public let options: [CodecOption]
    /// The type of its codecs.
    public let type: any WeightCodec.Type

    /// Creates a scheme.
    public init(_ name: String, options: [CodecOption], type: any WeightCodec.Type) {
        (self.name, self.options, self.type) = (name, options, type)
    }

    /// A specification may name an inner codec after a `+`.
    public var takesInner: Bool { type.takesInner }
    /// See `WeightCodec.numericsVersion`.
    public var numericsVersion: Int { type.numericsVersion }
}

/// The name and size of one byte section of an encoding.
public struct SectionLayout: Equatable, Sendable {
    /// The name, such as `codes`, `palettes`, `scales` or `zeros`.
    public let name: String
    /// The exact size in bytes.
    public let byteCount: Int
    /// Creates a section of a size in bytes.
    public init(_ name: String, byteCount: Int) {
        self.name = name
        self.byteCount = byteCount
    }
}

extension WeightCodec {
    public static var takesInner: Bool { false }
    public func resolved(for source: StoredTensor) throws -> any WeightCodec { self }
    public func corruption(in sections: [ByteView], shape: Shape) -> String? { nil }
    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int { 0 }
    /// Decodes whole rows to float32 with temporary scratch memory.
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
    /// The codec's name, e.g. `palette`.
    public var name: String { values.codec }
    /// The canonical text, with only the options that differ from their defaults: `palette:bits=4,group=16`.
    public var specification: String { values.specification }
}

extension WeightCodec {
    /// Returns why a recipe leaves a tensor as it is in the checkpoint; nil if the codec encodes it. Vectors of any rank count as
    /// vectors: one that is pruned or has few levels may be divided by.
    package func reasonToKeep(_ tensor: StoredTensor) -> String? {
        unsupportedReason(elementType: tensor.elementType, shape: tensor.shape)
            ?? unsupportedReason(elementType: tensor.elementType, shape: tensor.shape.withoutUnitAxes)
    }
}

/// A weight's shape as the matrix that codecs see. A matrix without elements has neither rows nor columns.
extension Shape {
    /// Output channels can have scales and tables. Vectors and scalars, such as biases and the gains of normalisations,
    /// have none: by design, schemes that need output channels leave them as they are in the checkpoint.
    public var hasOutputChannels: Bool { withoutUnitAxes.rank >= 2 }

    /// A vector with axes of size 1 around it, such as a class token `[1, 1, C]` or the alpha `[1, C, 1]` of a snake, as the vector
    /// that it is; any other shape as it is. `[1, C]` is a matrix: a classifier of one label has it.
    var withoutUnitAxes: Shape {
        guard rank >= 3, dimensions.count(where: { $0 != 1 }) <= 1 else { return self }
        return [dimensions.first { $0 != 1 } ?? 1]
    }

    /// The number of output channels; 1 for a vector or scalar.
    public var rows: Int { rank < 2 ? 1 : columns == 0 ? 0 : dimensions[0] }
    /// The product of all dimensions but the first; a vector's length.
    public var columns: Int {
        if rank < 2 { return rank == 0 ? 1 : dimensions[0] }
        // Written as loops, because decoding must not allocate, and `contains` and `reduce` may.
        for axis in 0..<rank where dimensions[axis] == 0 { return 0 }
        var product = 1
        for axis in 1..<rank { product *= dimensions[axis] }
        return product
    }

    /// Returns all rows divided into blocks of about `elements` elements.
    func rowBlocks(of elements: Int) -> [Range<Int>] {
        let step = max(1, elements / max(columns, 1))
        return stride(from: 0, to: rows, by: step).map { $0..<min($0 + step, rows) }
    }
}

extension WeightCodec {
    /// Returns why a tensor cannot have shared scales or tables; nil if it can.
    func quantizationUnsupportedReason(_ elementType: ElementType, _ shape: Shape) -> String? {
        if !elementType.isFloatingPoint { return "\(elementType.rawValue) elements are not floating point" }
        if shape.rank < 2 { return "a \(shape.rank == 0 ? "scalar" : "vector") has no output channels" }
        if shape.count == 0 { return "it has no elements" }
        return nil
    }
}
