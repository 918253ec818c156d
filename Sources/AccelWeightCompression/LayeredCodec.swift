import AccelByteIO
import AccelTensors

/// A codec that encodes some weights itself and leaves the others to an inner codec, whose sections come first.
protocol LayeredCodec: SingleSchemeCodec {
    var inner: any WeightCodec { get }
    /// Returns the shape of the float32 tensor that the inner codec encodes.
    func innerShape(_ shape: Shape) -> Shape
    /// Returns the sections after those of the inner codec.
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

    /// Returns the weight of the inner codec.
    func innerWeight(_ name: String, _ shape: Shape, _ sections: [ByteView]) -> CompressedTensor {
        CompressedTensor(
            name: name, elementType: .float32, shape: innerShape(shape), codec: inner,
            checked: Array(sections.prefix(sections.count - ownSections(shape).count)))
    }

    func innerWeight(of weight: CompressedTensor) -> CompressedTensor { weight.layers[0] }

    /// Returns this codec's own sections.
    func own<Section>(_ sections: [Section], _ shape: Shape) -> ArraySlice<Section> {
        sections.suffix(ownSections(shape).count)
    }

    /// The bytes of a row of floats in scratch memory, before that of the inner codec. Decoding allocates nothing, so it takes the
    /// columns and makes no shape.
    func floatRowBytes(_ columns: Int) -> Int { (columns * MemoryLayout<Float>.stride + 15) / 16 * 16 }

    /// Encodes `floats` with the inner codec, and returns them as they decode.
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

    /// Returns the inner codec of the options; float16 if they name none.
    /// - Throws: `RequestError` for an inner codec with calibration: statistics of all columns do not apply to the
    ///   weights that remain.
    static func inner(of values: CodecOptionValues) throws -> (any WeightCodec, CodecOptionValues) {
        let within = values.inner.first ?? CodecOptionValues(defaultsOf: Float16Codec.scheme)
        let codec = try Codecs.codec(within)
        guard codec.method == .nearest else {
            throw RequestError(
                "\(name): the inner scheme \(codec.specification) cannot be calibrated; remove its method")
        }
        return (codec, values.replacing(inner: within))
    }
}

extension StoredTensor {
    /// Returns all elements as float32.
    /// - Throws: `FormatError` naming the first element that is not finite.
    func finiteFloats() throws -> [Float] {
        try [Float](unsafeUninitializedCapacity: shape.count) { target, count in
            try readFinite(0..<shape.count, into: target)
            count = shape.count
        }
    }
}

/// Selects the `count` elements of largest magnitude; of equal ones, the first.
func largestMagnitudes(_ count: Int, of floats: [Float]) -> [Bool] {
    guard count > 0, count < floats.count else { return [Bool](repeating: count > 0, count: floats.count) }
    var magnitudes = floats.map { abs($0) }
    magnitudes.withUnsafeMutableBufferPointer { magnitudes in
        withUnsafeTemporaryAllocation(of: Float.self, capacity: magnitudes.count) {
            RadixSort.sort(magnitudes, scratch: UnsafeMutableBufferPointer(rebasing: $0[..<magnitudes.count]))
        }
    }
    let limit = magnitudes[floats.count - count]
    var remaining = count - floats.reduce(0) { $0 + (abs($1) > limit ? 1 : 0) }
    return floats.map { value in
        guard abs(value) == limit else { return abs(value) > limit }
        remaining -= 1
        return remaining >= 0
    }
}
