public import AccelByteIO
public import AccelTensors

/// An encoded weight.
public struct CompressedTensor: Sendable {
    /// The weight's name in the checkpoint.
    public let name: String
    /// The weight's element type in the checkpoint.
    public let elementType: ElementType
    /// The weight's shape.
    public let shape: Shape
    /// The codec, with all its options.
    public let codec: any WeightCodec
    /// The bytes of each section, in the order of `codec.sections(elementType:shape:)`.
    public let sections: [ByteView]
    /// The weight of the inner codec; empty if there is none.
    let layers: [CompressedTensor]

    /// Checks the sections of an encoded weight.
    /// - Parameter file: the origin of the sections, for errors.
    /// - Throws: `FormatError` if the codec does not support the shape, or if the sections cannot be an encoding of it.
    public init(
        name: String, elementType: ElementType, shape: Shape, codec: any WeightCodec, sections: [ByteView],
        file: String = "memory"
    ) throws {
        let layout = try codec.agreedSections(elementType: elementType, shape: shape, name: name, file: file)
        guard layout.map(\.byteCount) == sections.map(\.count) else {
            let wanted = layout.map { "\($0.name) of \($0.byteCount)" }.joined(separator: ", ")
            throw FormatError(
                file: file, location: .tensor(name, index: nil),
                reason:
                    "\(codec.specification) of \(shape): expected sections \(wanted) bytes, found \(sections.map(\.count)) bytes"
            )
        }
        if let corruption = codec.corruption(in: sections, shape: shape) {
            throw FormatError(
                file: file, location: .tensor(name, index: nil), reason: "\(codec.specification): \(corruption)")
        }
        self.init(name: name, elementType: elementType, shape: shape, codec: codec, checked: sections)
    }

    /// Bits of the codes for one weight, without scales and tables.
    public var codeBits: Double { codec.codeBits(codec.sections(elementType: elementType, shape: shape), shape) }

    /// - Parameter sections: already checked.
    init(name: String, elementType: ElementType, shape: Shape, codec: any WeightCodec, checked sections: [ByteView]) {
        self.name = name
        self.elementType = elementType
        self.shape = shape
        self.codec = codec
        self.sections = sections
        layers = (codec as? any LayeredCodec).map { [$0.innerWeight(name, shape, sections)] } ?? []
    }

    /// Encodes `source` on up to `threads` threads; the bytes do not depend on their number.
    /// - Parameter statistics: activation statistics of the weight, for codecs that support calibration.
    /// - Throws: `FormatError`, naming tensor and index, for a value that cannot be encoded.
    public static func compressing(
        _ source: StoredTensor, with codec: any WeightCodec, given statistics: ActivationStatistics? = nil, threads: Int
    ) throws -> (tensor: CompressedTensor, distortion: Distortion) {
        let units = try UnitEncoding(source, with: codec)
        let sections = try units.sections()
        let parts = try units.encode(0..<units.count, given: statistics, threads: threads, into: sections)
        return (try units.tensor(sections), parts.reduce(into: Distortion()) { $0.merge($1) })
    }

    /// Returns the decoded weight as float32, row-major.
    public func floats() -> [Float] {
        [Float](unsafeUninitializedCapacity: shape.count) { target, count in
            codec.decode(0..<shape.rows, of: self, into: target)
            count = shape.count
        }
    }

    /// Returns the decoded weight as a float32 tensor whose rows are decoded when they are read.
    /// - Parameter file: the file that it comes from, for errors.
    public func decoded(file: String = "memory") -> StoredTensor {
        let rows = shape.count == 0 ? 0 : shape.rows
        let derived = DerivedBytes(rows: rows, rowBytes: max(shape.columns * 4, 1)) { rows, target in
            codec.decode(rows, of: self, into: target.assumingMemoryBound(to: Float.self))
        }
        return StoredTensor(
            name: name, elementType: .float32, shape: shape, bytes: ByteView(derived), file: file)
    }

    /// The same weight with all sections in memory: those that are computed when they are read are computed once.
    package var resident: CompressedTensor {
        guard sections.contains(where: \.isDerived) else { return self }
        return CompressedTensor(
            name: name, elementType: elementType, shape: shape, codec: codec, checked: sections.map(\.resident))
    }

    /// Returns the same encoding of a weight with another element type in the checkpoint.
    public func stated(as elementType: ElementType) throws -> CompressedTensor {
        try CompressedTensor(name: name, elementType: elementType, shape: shape, codec: codec, sections: sections)
    }

    /// The size of all sections in bytes.
    public var byteCount: Int { sections.reduce(0) { $0 + $1.count } }
    /// The bits per weight, including scales and tables.
    public var bitsPerWeight: Double { shape.count == 0 ? 0 : Double(byteCount * 8) / Double(shape.count) }
}

extension WeightCodec {
    /// Returns the bits of the codes for one weight, without scales and tables.
    func codeBits(_ layouts: [SectionLayout], _ shape: Shape) -> Double {
        // A row of ggml's blocks ends with a whole one, however few of its weights the row has.
        if let blocks = self as? GGMLCodec { return blocks.bitsPerWeight }
        let codes = layouts.first { $0.name == "codes" } ?? layouts.first
        return Double((codes?.byteCount ?? 0) * 8) / Double(max(shape.count, 1))
    }

    /// Returns the sections of a tensor after a check that the codec supports it.
    func agreedSections(
        elementType: ElementType, shape: Shape, name: String, file: String
    ) throws -> [SectionLayout] {
        if let reason = unsupportedReason(elementType: elementType, shape: shape) {
            throw FormatError(
                file: file, location: .tensor(name, index: nil),
                reason: "cannot be stored as \(specification): \(reason)")
        }
        return sections(elementType: elementType, shape: shape)
    }
}
