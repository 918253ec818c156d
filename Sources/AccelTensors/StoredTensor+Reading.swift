import AccelByteIO
import CAccelKernels

extension StoredTensor {
    /// Reads the elements `range`, in row-major order, as float32. float64 is rounded to nearest; integers and booleans
    /// are converted.
    /// - Parameter target: at least `range.count` elements.
    public func readFloats(_ range: Range<Int>, into target: UnsafeMutableBufferPointer<Float>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= shape.count, "a tensor has no elements there")
        precondition(target.count >= range.count, "the elements do not fit the target")
        let width = elementType.byteCount
        bytes[range.lowerBound * width..<range.upperBound * width].withBytes { source in
            guard let start = source.baseAddress, let floats = target.baseAddress, !range.isEmpty else { return }
            switch elementType {
            case .float32: UnsafeMutableRawPointer(floats).copyMemory(from: start, byteCount: source.count)
            case .float16: widenHalves(source, floats, ck_f16_to_f32)
            case .bfloat16: widenHalves(source, floats, ck_bf16_to_f32)
            case .float64: convert(source, Double.self, target) { Float($0) }
            case .float8e4m3: convert(source, UInt8.self, target) { Float8.e4m3.values[Int($0)] }
            case .float8e5m2: convert(source, UInt8.self, target) { Float8.e5m2.values[Int($0)] }
            case .int64: convert(source, Int64.self, target) { Float($0) }
            case .int32: convert(source, Int32.self, target) { Float($0) }
            case .int16: convert(source, Int16.self, target) { Float($0) }
            case .int8: convert(source, Int8.self, target) { Float($0) }
            case .uint64: convert(source, UInt64.self, target) { Float($0) }
            case .uint32: convert(source, UInt32.self, target) { Float($0) }
            case .uint16: convert(source, UInt16.self, target) { Float($0) }
            case .uint8: convert(source, UInt8.self, target) { Float($0) }
            case .bool: convert(source, UInt8.self, target) { $0 == 0 ? 0 : 1 }
            }
        }
    }

    /// Returns all elements as float32.
    public func floats() -> [Float] {
        [Float](unsafeUninitializedCapacity: shape.count) { buffer, count in
            count = shape.count
            readFloats(0..<count, into: UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
        }
    }

    /// Returns all elements as float64. Integers beyond 2^53 are rounded.
    public func doubles() -> [Double] {
        switch elementType {
        case .float64: elements(Double.self) { $0 }
        case .int64: elements(Int64.self) { Double($0) }
        case .int32: elements(Int32.self) { Double($0) }
        case .uint64: elements(UInt64.self) { Double($0) }
        case .uint32: elements(UInt32.self) { Double($0) }
        default: floats().map { Double($0) }
        }
    }

    /// Returns all elements as 64-bit integers. Floating-point elements are truncated; unsigned integers and floats out
    /// of range become the nearest integer.
    public func integers() -> [Int64] {
        switch elementType {
        case .int64: elements(Int64.self) { $0 }
        case .int32: elements(Int32.self) { Int64($0) }
        case .int16: elements(Int16.self) { Int64($0) }
        case .int8: elements(Int8.self) { Int64($0) }
        case .uint64: elements(UInt64.self) { Int64(clamping: $0) }
        case .uint32: elements(UInt32.self) { Int64($0) }
        case .uint16: elements(UInt16.self) { Int64($0) }
        case .uint8: elements(UInt8.self) { Int64($0) }
        case .bool: elements(UInt8.self) { $0 == 0 ? 0 : 1 }
        case .float64, .float32, .float16, .bfloat16, .float8e4m3, .float8e5m2:
            doubles().map { value in
                Int64(exactly: value.rounded(.towardZero)) ?? (value > 0 ? Int64.max : value < 0 ? Int64.min : 0)
            }
        }
    }

    private func elements<Stored: BitwiseCopyable, Element>(
        _ type: Stored.Type, _ convert: (Stored) -> Element
    ) -> [Element] {
        bytes.withBytes { source in
            (0..<shape.count).map { index in
                convert(source.loadUnaligned(fromByteOffset: index * MemoryLayout<Stored>.size, as: Stored.self))
            }
        }
    }
}

/// Elements in a file may be unaligned.
private func convert<Stored: BitwiseCopyable>(
    _ source: UnsafeRawBufferPointer, _ type: Stored.Type, _ target: UnsafeMutableBufferPointer<Float>,
    _ convert: (Stored) -> Float
) {
    for index in 0..<source.count / MemoryLayout<Stored>.size {
        target[index] = convert(
            source.loadUnaligned(fromByteOffset: index * MemoryLayout<Stored>.size, as: Stored.self))
    }
}

private func widenHalves(
    _ source: UnsafeRawBufferPointer, _ target: UnsafeMutablePointer<Float>,
    _ widen: (UnsafePointer<UInt16>?, UnsafeMutablePointer<Float>?, Int) -> Void
) {
    guard let start = source.baseAddress else { return }
    widen(start.assumingMemoryBound(to: UInt16.self), target, source.count / 2)
}
