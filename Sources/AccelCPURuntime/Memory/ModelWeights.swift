import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// The weights of an open model in the form that kernels read: large ones compressed; small ones in the mapped file, or
/// decoded once. All sessions of the model share them, so a weight is decoded by the first function that reads it.
final class ModelWeights: Sendable {
    let tensors: [CompressedTensor]
    private let packed: PackedWeights?
    private let tables = Locked(Tables())

    private struct Tables: Sendable {
        /// Weights that any operator reads from memory, by their index.
        var resident: [Int: (cell: AddressCell, byteCount: Int)] = [:]
        /// Weights that stay compressed, by their index.
        var stored: [Int: StoredWeight] = [:]
        /// Resident weights that have no memory yet.
        var waiting: [Int] = []
        /// The address that their cells hold until then.
        let none = ByteBuffer(count: 64)
    }

    init(_ tensors: [CompressedTensor], packed: PackedWeights? = nil) {
        self.tensors = tensors
        self.packed = packed
    }

    /// The memory of a small weight, which is there after `pack`; nil for a large one.
    /// - Throws: `FormatError` when its size overflows.
    func resident(_ index: Int) throws -> (cell: AddressCell, byteCount: Int)? {
        try tables.withLock { tables in
            if let weight = tables.resident[index] { return weight }
            guard let bytes = try ResidentWeight(tensors[index])?.byteCount() else { return nil }
            let weight = (cell: AddressCell(tables.none), byteCount: bytes)
            tables.resident[index] = weight
            tables.waiting.append(index)
            return weight
        }
    }

    func stored(_ index: Int) -> StoredWeight {
        tables.withLock { tables in
            let weight = tables.stored[index] ?? StoredWeight(tensors[index], packed: packed?.forms(of: index) ?? [:])
            tables.stored[index] = weight
            return weight
        }
    }

    /// The bytes that `pack` would decode.
    var undecodedBytes: Int {
        tables.withLock { tables in
            MachineMemory.sum(
                tables.waiting.filter { ResidentWeight(tensors[$0])?.inPlace == nil }
                    .map { Self.aligned(tables.resident[$0]?.byteCount ?? 0) })
        }
    }

    private static func aligned(_ count: Int) -> Int { (count + 63) / 64 * 64 }

    /// Makes the small weights readable that are not yet: where they are stored, or decoded side by side.
    /// - Parameter function: its name, for errors.
    /// - Returns: the bytes that were decoded.
    /// - Throws: `RequestError` (unavailable) without memory.
    func pack(for function: String) throws -> Int {
        try tables.withLock { tables in
            guard !tables.waiting.isEmpty else { return 0 }
            var (starts, bytes): ([(index: Int, start: Int)], Int) = ([], 0)
            for index in tables.waiting.sorted() {
                if let (address, owner) = ResidentWeight(tensors[index])?.inPlace {
                    tables.resident[index]?.cell.set(address, keptBy: owner)
                } else {
                    starts.append((index, bytes))
                    bytes += Self.aligned(tables.resident[index]?.byteCount ?? 0)
                }
            }
            if !starts.isEmpty {
                let buffer = try ByteBuffer(allocating: bytes, for: "the small weights of function \(function)")
                for (index, start) in starts {
                    guard let weight = tables.resident[index] else { continue }
                    let part = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[start..<start + weight.byteCount])
                    ResidentWeight(tensors[index])?.decode(into: part)
                    weight.cell.set(buffer.bytes.baseAddress.unsafelyUnwrapped + start, keptBy: buffer)
                }
            }
            tables.waiting = []
            return bytes
        }
    }
}
