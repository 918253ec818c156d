import AccelByteIO
import AccelTensors

/// A codec that stores some weights its own way and leaves the others to a codec within it, whose sections come first.
protocol LayeredCodec: WeightCodec {
    var inner: any WeightCodec { get }
    /// What the inner codec stores, as a float32 tensor.
    func innerShape(_ shape: Shape) -> Shape
    /// The sections after the inner codec's.
    func ownSections(_ shape: Shape) -> [SectionLayout]
}

extension LayeredCodec {
    public static var takesInner: Bool { true }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        innerLayout(shape) + ownSections(shape)
    }

    func innerLayout(_ shape: Shape) -> [SectionLayout] {
        inner.sections(elementType: .float32, shape: innerShape(shape))
    }

    /// The weight that the inner codec stores.
    func innerWeight(_ name: String, _ shape: Shape, _ sections: [ByteView]) -> CompressedTensor {
        CompressedTensor(
            name: name, elementType: .float32, shape: innerShape(shape), codec: inner,
            checked: Array(sections.prefix(sections.count - ownSections(shape).count)))
    }

    func innerWeight(of weight: CompressedTensor) -> CompressedTensor { weight.layers[0] }

    /// The sections that are this codec's own.
    func own<Section>(_ sections: [Section], _ shape: Shape) -> ArraySlice<Section> {
        sections.suffix(ownSections(shape).count)
    }

    /// Lets the inner codec store `floats`, and returns them as they are stored.
    func encodeInner(
        _ floats: [Float], of source: StoredTensor, given statistics: ActivationStatistics?, threads: Int,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> [Float] {
        let part = StoredTensor(
            name: source.name, elementType: .float32, shape: innerShape(source.shape), bytes: ByteView(floats),
            file: source.file)
        let weight = try CompressedTensor.compressing(part, with: inner, given: statistics, threads: threads).tensor
        for (section, target) in zip(weight.sections, sections) { section.withBytes { target.copyMemory(from: $0) } }
        return weight.floats()
    }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        try encode(unit, of: source, given: statistics, threads: 1, into: sections)
    }

    /// The options' codec within.
    /// - Throws: `RequestError` for a codec that asks for statistics: those of all columns say nothing of the ones left.
    static func inner(of values: CodecOptionValues) throws -> (any WeightCodec, CodecOptionValues) {
        let within = values.inner.first ?? CodecOptionValues(defaultsOf: Float16Codec.self)
        let codec = try Codecs.codec(within)
        guard codec.method == .nearest else {
            throw RequestError("\(name): \(codec.specification) within it cannot be calibrated; leave method out")
        }
        return (codec, values.replacing(inner: within))
    }
}

extension StoredTensor {
    /// All elements as float32.
    /// - Throws: `FormatError` naming the first that is not finite.
    func finiteFloats() throws -> [Float] {
        try [Float](unsafeUninitializedCapacity: shape.count) { target, count in
            try readFinite(0..<shape.count, into: target)
            count = shape.count
        }
    }
}

/// The `count` of largest magnitude among `floats`; of equal ones, those that come first.
func largestMagnitudes(_ count: Int, of floats: [Float]) -> [Bool] {
    guard count > 0, count < floats.count else { return [Bool](repeating: count > 0, count: floats.count) }
    var magnitudes = floats.map { abs($0) }
    magnitudes.withUnsafeMutableBufferPointer { magnitudes in
        withUnsafeTemporaryAllocation(of: Float.self, capacity: magnitudes.count) {
            RadixSort.sort(magnitudes, scratch: UnsafeMutableBufferPointer(rebasing: $0[..<magnitudes.count]))
        }
    }
    let limit = magnitudes[floats.count - count]
    var room = count - floats.reduce(0) { $0 + (abs($1) > limit ? 1 : 0) }
    return floats.map { value in
        guard abs(value) == limit else { return abs(value) > limit }
        room -= 1
        return room >= 0
    }
}
