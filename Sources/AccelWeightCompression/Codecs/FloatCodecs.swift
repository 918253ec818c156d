import AccelByteIO
public import AccelTensors
import CAccelKernels

/// Storage as one floating-point type. Values are rounded to nearest, ties to even.
public protocol FloatCodec: SingleSchemeCodec {
    /// The element type of the stored values.
    static var storedType: ElementType { get }
    /// Creates the codec; it has no options.
    init(values: CodecOptionValues)
    /// Rounds `count` numbers to the stored type.
    static func narrow(_ source: UnsafePointer<Float>, _ target: UnsafeMutableRawPointer, _ count: Int)
}

extension FloatCodec {
    public static var options: [CodecOption] { [] }
    public init(_ values: CodecOptionValues) throws { self.init(values: values) }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        elementType.isFloatingPoint ? nil : "\(elementType.rawValue) elements are not floating point"
    }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        [SectionLayout("values", byteCount: shape.count * Self.storedType.byteCount)]
    }

    public func units(shape: Shape) -> [Range<Int>] { shape.rowBlocks(of: 1 << 18) }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        var distortion = Distortion()
        let columns = source.shape.columns
        try withUnsafeTemporaryAllocation(of: Float.self, capacity: max(columns, 1)) { stored in
            try source.forEachFiniteRow(unit) { index, row in
                guard columns > 0, let values = row.baseAddress, let back = stored.baseAddress,
                    let target = sections[0].baseAddress
                else { return }
                let destination = target + index * columns * Self.storedType.byteCount
                Self.narrow(values, destination, columns)
                Self.widen(destination, back, columns)
                let decoded = UnsafeMutableBufferPointer(rebasing: stored[..<columns])
                if let bad = decoded.firstNotFinite {
                    throw source.error(
                        "\(row[bad]) is too large for \(Self.name); store it as float32", index: index * columns + bad)
                }
                distortion.add(row, storedAs: decoded)
            }
        }
        return distortion
    }

    /// Returns the numbers as they decode after rounding to the stored type.
    static func rounded(_ floats: [Float]) -> [Float] {
        let bytes = ByteBuffer(count: floats.count * storedType.byteCount)
        return [Float](unsafeUninitializedCapacity: floats.count) { target, count in
            count = floats.count
            guard let values = target.baseAddress, let stored = bytes.bytes.baseAddress else { return }
            floats.withUnsafeBufferPointer { floats in
                if let start = floats.baseAddress { narrow(start, stored, floats.count) }
            }
            widen(stored, values, floats.count)
        }
    }

    private static func widen(_ source: UnsafeRawPointer, _ target: UnsafeMutablePointer<Float>, _ count: Int) {
        switch storedType {
        case .float16: ck_f16_to_f32(source.assumingMemoryBound(to: UInt16.self), target, count)
        case .bfloat16: ck_bf16_to_f32(source.assumingMemoryBound(to: UInt16.self), target, count)
        default: UnsafeMutableRawPointer(target).copyMemory(from: source, byteCount: count * 4)
        }
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let start = rows.lowerBound * weight.shape.columns
        let count = rows.count * weight.shape.columns
        weight.sections[0].withBytes { bytes in
            guard count > 0, let source = bytes.baseAddress, let target = target.baseAddress else { return }
            Self.widen(source + start * Self.storedType.byteCount, target, count)
        }
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let columns = source.shape.columns
        let size = Self.storedType.byteCount
        return withUnsafeTemporaryAllocation(of: Float.self, capacity: max(columns, 1)) { row in
            withUnsafeTemporaryAllocation(byteCount: max(columns * size, 1), alignment: 64) { wanted in
                for index in rows where columns > 0 {
                    guard let values = row.baseAddress, let rounded = wanted.baseAddress else { continue }
                    source.readFloats(index * columns..<(index + 1) * columns, into: row)
                    Self.narrow(values, rounded, columns)
                    let differing = weight.sections[0][index * columns * size..<(index + 1) * columns * size]
                        .withBytes { stored in zip(stored, wanted).enumerated().first { $1.0 != $1.1 }?.offset }
                    if let differing {
                        return (index * columns + differing / size, "is not the nearest \(Self.name)")
                    }
                }
                return nil
            }
        }
    }
}

/// Storage as float32 (IEEE 754 binary32).
public struct Float32Codec: FloatCodec {
    public static let name = "float32"
    public static let numericsVersion = 1
    public static let storedType = ElementType.float32
    public let values: CodecOptionValues
    public init(values: CodecOptionValues) { self.values = values }
    public static func narrow(_ source: UnsafePointer<Float>, _ target: UnsafeMutableRawPointer, _ count: Int) {
        target.copyMemory(from: source, byteCount: count * 4)
    }
}

/// Storage as float16 (IEEE 754 binary16).
public struct Float16Codec: FloatCodec {
    public static let name = "float16"
    public static let numericsVersion = 1
    public static let storedType = ElementType.float16
    public let values: CodecOptionValues
    public init(values: CodecOptionValues) { self.values = values }
    public static func narrow(_ source: UnsafePointer<Float>, _ target: UnsafeMutableRawPointer, _ count: Int) {
        ck_f32_to_f16(source, target.assumingMemoryBound(to: UInt16.self), count)
    }
}

/// Storage as bfloat16 (the upper half of binary32).
public struct BFloat16Codec: FloatCodec {
    public static let name = "bfloat16"
    public static let numericsVersion = 1
    public static let storedType = ElementType.bfloat16
    public let values: CodecOptionValues
    public init(values: CodecOptionValues) { self.values = values }
    public static func narrow(_ source: UnsafePointer<Float>, _ target: UnsafeMutableRawPointer, _ count: Int) {
        ck_f32_to_bf16(source, target.assumingMemoryBound(to: UInt16.self), count)
    }
}
