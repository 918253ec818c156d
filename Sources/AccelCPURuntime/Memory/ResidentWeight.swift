import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// A weight that is so small that any operator reads it from memory: a vector, a scalar, a table of integers, a small
/// matrix.
struct ResidentWeight {
    private let weight: CompressedTensor
    private static let mostElements = 1 << 12

    /// nil for a weight that kernels decode while they read it.
    init?(_ weight: CompressedTensor) {
        let isSmall = weight.shape.rank < 2 || weight.shape.count <= Self.mostElements
        guard isSmall || !weight.elementType.isFloatingPoint else { return nil }
        self.weight = weight
    }

    /// Bytes in memory.
    /// - Throws: `FormatError` when it overflows.
    func byteCount() throws -> Int {
        let size = weight.elementType.isFloatingPoint ? 4 : weight.elementType == .bool ? 1 : 8
        let (bytes, overflow) = weight.shape.count.multipliedReportingOverflow(by: size)
        guard !overflow else { throw FormatError(file: weight.name, reason: "is too large") }
        return bytes
    }

    /// Where it lies when it is stored as programs read it, and who keeps it. Nobody writes there.
    var inPlace: (address: UnsafeMutableRawPointer, owner: AnyObject)? {
        let stored = StoredWeight(weight)
        if let floats = stored.floatsInPlace {
            return (UnsafeMutableRawPointer(mutating: UnsafeRawPointer(floats)), stored)
        }
        guard weight.elementType == .int64, weight.codec is StoredCodec, let section = weight.sections.first else {
            return nil
        }
        return section.withBytes { bytes in
            guard let start = bytes.baseAddress, Int(bitPattern: start) % 8 == 0 else { return nil }
            return (UnsafeMutableRawPointer(mutating: start), stored)
        }
    }

    /// Writes the elements: float32, int64, or bytes that are 0 or 1.
    func decode(into target: UnsafeMutableRawBufferPointer) {
        if weight.elementType.isFloatingPoint {
            return weight.codec.decode(
                0..<weight.shape.rows, of: weight, into: target.assumingMemoryBound(to: Float.self))
        }
        // Integers and booleans are never compressed: their only section is the tensor.
        guard let bytes = weight.sections.first else { return }
        let stored = StoredTensor(
            name: weight.name, elementType: weight.elementType, shape: weight.shape, bytes: bytes)
        for (index, value) in stored.integers().enumerated() {
            if weight.elementType == .bool {
                target[index] = value == 0 ? 0 : 1
            } else {
                target.storeBytes(of: value, toByteOffset: index * MemoryLayout<Int64>.stride, as: Int64.self)
            }
        }
    }
}
