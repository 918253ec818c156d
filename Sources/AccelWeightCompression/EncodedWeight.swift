public import AccelByteIO
public import AccelTensors

/// A weight that a model's files have encoded. Its codes are read from the files when they are used, and not kept.
public struct EncodedWeight: Sendable {
    /// The weight's name in the checkpoint.
    public let name: String
    /// The weight's element type in the checkpoint.
    public let elementType: ElementType
    /// The weight's shape.
    public let shape: Shape
    /// The codec, with all its options.
    public let codec: any WeightCodec
    /// The file that it comes from, for errors.
    public let file: String
    private let sections: @Sendable () throws -> [ByteView]

    /// Creates a weight.
    /// - Parameter sections: reads the bytes of each section.
    /// - Throws: `FormatError` if the codec does not support the element type or the shape.
    public init(
        name: String, elementType: ElementType, shape: Shape, codec: any WeightCodec, file: String,
        sections: @escaping @Sendable () throws -> [ByteView]
    ) throws {
        _ = try codec.agreedSections(elementType: elementType, shape: shape, name: name, file: file)
        (self.name, self.elementType, self.shape, self.codec) = (name, elementType, shape, codec)
        (self.file, self.sections) = (file, sections)
    }

    /// A weight whose sections are at hand.
    public init(_ tensor: CompressedTensor, file: String = "memory") {
        (name, elementType, shape, codec) = (tensor.name, tensor.elementType, tensor.shape, tensor.codec)
        self.file = file
        sections = { tensor.sections }
    }

    /// Reads the weight.
    /// - Throws: `FormatError` if the sections cannot be an encoding of it.
    public func tensor() throws -> CompressedTensor {
        try CompressedTensor(
            name: name, elementType: elementType, shape: shape, codec: codec, sections: sections(), file: file)
    }

    /// Returns the same encoding of a weight with another element type in the checkpoint.
    public func stated(as elementType: ElementType) throws -> EncodedWeight {
        try EncodedWeight(
            name: name, elementType: elementType, shape: shape, codec: codec, file: file, sections: sections)
    }

    /// The size of all sections in bytes.
    public var byteCount: Int { layout.reduce(0) { $0 + $1.byteCount } }
    /// The bits per weight, including scales and tables.
    public var bitsPerWeight: Double { shape.count == 0 ? 0 : Double(byteCount * 8) / Double(shape.count) }
    /// Bits of the codes for one weight, without scales and tables.
    public var codeBits: Double { codec.codeBits(layout, shape) }

    private var layout: [SectionLayout] { codec.sections(elementType: elementType, shape: shape) }

    /// Returns the decoded weight as a float32 tensor whose rows are decoded when they are read.
    /// - Parameter recent: keeps what was read last, so that neighbouring rows are not read again.
    public func decoded(keeping recent: RecentWeights) -> StoredTensor {
        let (rows, columns) = (shape.count == 0 ? 0 : shape.rows, shape.columns)
        let derived = DerivedBytes(rows: rows, rowBytes: max(columns * 4, 1)) { rows, target in
            let weight = try recent.tensor(of: self)
            weight.codec.decode(rows, of: weight, into: target.assumingMemoryBound(to: Float.self))
        }
        return StoredTensor(name: name, elementType: .float32, shape: shape, bytes: ByteView(derived), file: file)
    }
}

/// The encoded weights that were read last.
public final class RecentWeights: Sendable {
    private let weights = Locked<[CompressedTensor]>([])
    /// One for each of two threads that read different weights.
    private static let most = 2

    /// Creates an empty memory.
    public init() {}

    func tensor(of weight: EncodedWeight) throws -> CompressedTensor {
        let known = weights.withLock { weights in
            weights.first { $0.name == weight.name && $0.elementType == weight.elementType }
        }
        if let known { return known }
        let read = try weight.tensor()
        weights.withLock { weights in
            guard !weights.contains(where: { $0.name == read.name }) else { return }
            weights = weights.suffix(Self.most - 1) + [read]
        }
        return read
    }
}
