import AccelByteIO
public import AccelTensors

/// The bytes of the checkpoint, in any element type: the fallback for weights that the recipe's codec does not support.
public struct StoredCodec: SingleSchemeCodec {
    public static let name = "stored"
    public static let numericsVersion = 1
    public static let options: [CodecOption] = []
    public let values: CodecOptionValues

    /// Creates the codec; it has no options.
    public init(_ values: CodecOptionValues) { self.values = values }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? { nil }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        [SectionLayout("values", byteCount: shape.count * elementType.byteCount)]
    }

    public func units(shape: Shape) -> [Range<Int>] { shape.rowBlocks(of: 1 << 18) }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let (elements, size) = (source.elements(ofRows: unit), source.elementType.byteCount)
        let bytes = elements.lowerBound * size..<elements.upperBound * size
        source.bytes[bytes].withBytes {
            UnsafeMutableRawBufferPointer(rebasing: sections[0][bytes]).copyMemory(from: $0)
        }
        guard source.elementType.isFloatingPoint else {
            var distortion = Distortion()
            distortion.count = elements.count
            return distortion
        }
        var distortion = Distortion()
        try source.forEachFiniteRow(unit) { _, row in distortion.addLossless(row) }
        return distortion
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let stored = StoredTensor(
            name: weight.name, elementType: weight.elementType, shape: weight.shape, bytes: weight.sections[0])
        stored.readFloats(stored.elements(ofRows: rows), into: target)
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let size = source.elementType.byteCount
        let elements = source.elements(ofRows: rows)
        let bytes = elements.lowerBound * size..<elements.upperBound * size
        return weight.sections[0][bytes].withBytes { stored in
            source.bytes[bytes].withBytes { original in
                zip(stored, original).enumerated().first { $1.0 != $1.1 }.map {
                    (bytes.lowerBound + $0.offset) / size
                }
            }
        }.map { ($0, "differs from the checkpoint, though it is stored as it was") }
    }
}
