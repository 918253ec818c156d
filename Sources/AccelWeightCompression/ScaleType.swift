package import AccelTensors
import CAccelKernels

/// The storage type of scales.
package enum ScaleType: String, Sendable {
    case float16
    case bfloat16
    case float32

    /// The type of the scales of a weight that keeps its own type: float32 for elements that are neither float16 nor
    /// bfloat16.
    init(of elementType: ElementType) {
        self =
            switch elementType {
            case .float16: .float16
            case .bfloat16: .bfloat16
            default: .float32
            }
    }

    package var byteCount: Int { elementType.byteCount }
    /// The type as that of a tensor's elements.
    package var elementType: ElementType {
        switch self {
        case .float16: .float16
        case .bfloat16: .bfloat16
        case .float32: .float32
        }
    }

    /// Returns the nearest value of the type, with ties to even; infinity for values out of range.
    func rounded(_ scale: Float) -> Float { self == .float32 ? scale : value(bits(scale)) }

    /// Returns the nearest values of the type for sixteen numbers of any sign.
    func rounded(_ scales: SIMD16<Float>) -> SIMD16<Float> {
        guard self != .float32 else { return scales }
        var (scales, halves) = (scales, SIMD16<UInt16>())
        withUnsafeMutableBytes(of: &scales) { scales in
            withUnsafeMutableBytes(of: &halves) { halves in
                let (scales, halves) = (
                    scales.assumingMemoryBound(to: Float.self), halves.assumingMemoryBound(to: UInt16.self)
                )
                narrow(scales.baseAddress, halves.baseAddress, 16)
                widen(halves.baseAddress, scales.baseAddress, 16)
            }
        }
        return scales
    }

    /// Returns the next larger value of the type.
    /// - Precondition: `scale` is a value of the type, and not negative.
    func next(after scale: Float) -> Float { self == .float32 ? scale.nextUp : value(bits(scale) &+ 1) }

    /// Returns the next smaller value of the type.
    /// - Precondition: `scale` is a value of the type, and positive.
    func previous(before scale: Float) -> Float { self == .float32 ? scale.nextDown : value(bits(scale) &- 1) }

    func store(_ scale: Float, in section: UnsafeMutableRawBufferPointer, at index: Int) {
        switch self {
        case .float16, .bfloat16: section.storeBytes(of: bits(scale), toByteOffset: index * 2, as: UInt16.self)
        case .float32: section.storeBytes(of: scale, toByteOffset: index * 4, as: Float.self)
        }
    }

    func load(_ section: UnsafeRawBufferPointer, at index: Int) -> Float {
        switch self {
        case .float16, .bfloat16: value(section.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self))
        case .float32: section.loadUnaligned(fromByteOffset: index * 4, as: Float.self)
        }
    }

    /// Reads the scales `indices` as float32.
    package func load(
        _ section: UnsafeRawBufferPointer, _ indices: Range<Int>, into target: UnsafeMutablePointer<Float>
    ) {
        if self != .float32, let start = section.baseAddress, Int(bitPattern: start) % 2 == 0 {
            let halves = start.assumingMemoryBound(to: UInt16.self) + indices.lowerBound
            return widen(halves, target, indices.count)
        }
        if self == .float32, let start = section.baseAddress {
            return UnsafeMutableRawPointer(target).copyMemory(
                from: start + 4 * indices.lowerBound, byteCount: 4 * indices.count)
        }
        for slot in 0..<indices.count { target[slot] = load(section, at: indices.lowerBound + slot) }
    }

    /// The bits of the nearest number of two bytes.
    private func bits(_ scale: Float) -> UInt16 {
        var (scale, bits) = (scale, UInt16(0))
        narrow(&scale, &bits, 1)
        return bits
    }

    private func value(_ bits: UInt16) -> Float {
        var (bits, value) = (bits, Float(0))
        widen(&bits, &value, 1)
        return value
    }

    private func narrow(_ source: UnsafePointer<Float>?, _ target: UnsafeMutablePointer<UInt16>?, _ count: Int) {
        if self == .bfloat16 { ck_f32_to_bf16(source, target, count) } else { ck_f32_to_f16(source, target, count) }
    }

    private func widen(_ source: UnsafePointer<UInt16>?, _ target: UnsafeMutablePointer<Float>?, _ count: Int) {
        if self == .bfloat16 { ck_bf16_to_f32(source, target, count) } else { ck_f16_to_f32(source, target, count) }
    }
}
