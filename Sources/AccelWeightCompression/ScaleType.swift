import AccelTensors
import CAccelKernels

/// The storage type of scales.
package enum ScaleType: String, Sendable {
    case float16
    case float32

    package var byteCount: Int { elementType.byteCount }
    var elementType: ElementType { self == .float16 ? .float16 : .float32 }

    /// Returns the nearest value of the type, with ties to even; infinity for values out of range.
    func rounded(_ scale: Float) -> Float { self == .float16 ? Half.rounded(scale) : scale }

    /// Returns the nearest values of the type for sixteen numbers of any sign.
    func rounded(_ scales: SIMD16<Float>) -> SIMD16<Float> {
        guard self == .float16 else { return scales }
        var (scales, halves) = (scales, SIMD16<UInt16>())
        withUnsafeMutableBytes(of: &scales) { scales in
            withUnsafeMutableBytes(of: &halves) { halves in
                let (scales, halves) = (
                    scales.assumingMemoryBound(to: Float.self), halves.assumingMemoryBound(to: UInt16.self)
                )
                ck_f32_to_f16(scales.baseAddress, halves.baseAddress, 16)
                ck_f16_to_f32(halves.baseAddress, scales.baseAddress, 16)
            }
        }
        return scales
    }

    /// Returns the next larger value of the type.
    /// - Precondition: `scale` is a value of the type, and not negative.
    func next(after scale: Float) -> Float {
        self == .float16 ? Half.value(Half.bits(scale) &+ 1) : scale.nextUp
    }

    func store(_ scale: Float, in section: UnsafeMutableRawBufferPointer, at index: Int) {
        switch self {
        case .float16: section.storeBytes(of: Half.bits(scale), toByteOffset: index * 2, as: UInt16.self)
        case .float32: section.storeBytes(of: scale, toByteOffset: index * 4, as: Float.self)
        }
    }

    func load(_ section: UnsafeRawBufferPointer, at index: Int) -> Float {
        switch self {
        case .float16: Half.value(section.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self))
        case .float32: section.loadUnaligned(fromByteOffset: index * 4, as: Float.self)
        }
    }

    /// Reads the scales `indices` as float32.
    package func load(
        _ section: UnsafeRawBufferPointer, _ indices: Range<Int>, into target: UnsafeMutablePointer<Float>
    ) {
        if self == .float16, let start = section.baseAddress, Int(bitPattern: start) % 2 == 0 {
            let halves = start.assumingMemoryBound(to: UInt16.self) + indices.lowerBound
            return ck_f16_to_f32(halves, target, indices.count)
        }
        if self == .float32, let start = section.baseAddress {
            return UnsafeMutableRawPointer(target).copyMemory(
                from: start + 4 * indices.lowerBound, byteCount: 4 * indices.count)
        }
        for slot in 0..<indices.count { target[slot] = load(section, at: indices.lowerBound + slot) }
    }
}
