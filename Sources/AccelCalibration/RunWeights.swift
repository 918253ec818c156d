import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The weights of a run over samples that are decoded for the calls that read them next. All others are read where files have them.
final class RunWeights {
    private struct Decoded {
        let source: StoredTensor
        /// Zeros that stand in for the weight, and take no memory.
        let placeholder: CompressedTensor
        var isChecked = false
    }
    /// The weights to decode, by name.
    private var decoded: [String: Decoded] = [:]
    /// The names of those that are in memory.
    private var held: Set<String> = []
    /// The bytes of the largest one.
    private(set) var largestBytes = 0

    /// The bytes of decoded weights that are in memory at the same time, unless one call reads more.
    private static let heldBytes = 64 << 20

    /// Matrices of so many elements are decoded when they are used; smaller tensors at once.
    private static let leastElements = 1 << 16

    /// Returns the weights of functions as their sources have them, and those to decode.
    /// - Throws: `FormatError` for an element that is not finite.
    static func weights(
        of functions: [FrozenProgram], threads: Int
    ) throws -> (program: CompressedProgram, runWeights: RunWeights) {
        let codec = try Codecs.codec(StoredCodec.name)
        let plan = Recipe(default: codec).plan(for: functions)
        let runWeights = RunWeights()
        var weights: [CompressedWeight] = []
        for weight in plan {
            let source = weight.source
            let isDecodedLater =
                !source.isReadable && source.elementType.isFloatingPoint && source.shape.rank >= 2
                && source.shape.count >= leastElements
            var tensor = source
            if isDecodedLater {
                tensor = StoredTensor(
                    name: source.name, elementType: source.elementType, shape: source.shape,
                    bytes: try .zeros(source.bytes.count), file: source.file)
            } else if !source.isReadable {
                tensor = try source.readable(threads: threads)
                try tensor.requireFinite()
            }
            let stored = try CompressedTensor(
                name: source.name, elementType: source.elementType, shape: source.shape, codec: codec,
                sections: [tensor.bytes], file: source.file)
            if isDecodedLater {
                runWeights.decoded[source.name] = Decoded(source: source, placeholder: stored)
                runWeights.largestBytes = max(runWeights.largestBytes, source.bytes.count)
            }
            weights.append(CompressedWeight(tensor: stored, distortion: Distortion(), readers: weight.readers))
        }
        try Parallel.forEach(plan.count, threads: threads) { index in
            if plan[index].source.isReadable { try plan[index].source.requireFinite() }
        }
        return (CompressedProgram(functions: functions, weights: weights), runWeights)
    }

    /// Decodes weights that are not in memory, and gives all others back.
    /// - Parameter replace: puts an encoding in the place of a weight.
    /// - Throws: `FormatError` for an element that is not finite, or for a file that is corrupt.
    func hold(
        _ names: Set<String>, threads: Int, replace: (CompressedTensor) throws -> Void
    ) throws {
        let wanted = names.intersection(decoded.keys)
        for name in held.subtracting(wanted).sorted() {
            guard let weight = decoded[name] else { continue }
            try replace(weight.placeholder)
            held.remove(name)
        }
        for name in wanted.subtracting(held).sorted() {
            guard let weight = decoded[name] else { continue }
            let tensor = try weight.source.readable(threads: threads)
            if !weight.isChecked { try tensor.requireFinite() }
            decoded[name]?.isChecked = true
            let stored = weight.placeholder
            try replace(
                CompressedTensor(
                    name: stored.name, elementType: stored.elementType, shape: stored.shape, codec: stored.codec,
                    sections: [tensor.bytes], file: tensor.file))
            held.insert(name)
        }
    }

    /// Returns whether all of these weights may be in memory at the same time.
    func mayHold(_ names: Set<String>) -> Bool {
        names.reduce(0) { $0 + (decoded[$1]?.source.bytes.count ?? 0) } <= Self.heldBytes
    }

    /// Leaves a weight alone that has another encoding now.
    func forget(_ name: String) {
        decoded[name] = nil
        held.remove(name)
    }
}

extension StoredTensor {
    /// Whether kernels read the elements where they are.
    fileprivate var isReadable: Bool {
        guard !bytes.isDerived else { return false }
        return bytes.withBytes { bytes in
            Int(bitPattern: bytes.baseAddress) % elementType.byteCount == 0
        }
    }

    /// Returns the elements in memory, on a boundary of their size.
    fileprivate func readable(threads: Int) throws -> StoredTensor {
        let tensor = try resident(threads: threads)
        guard !tensor.isReadable else { return tensor }
        let buffer = try ByteBuffer(allocating: bytes.count, for: name)
        tensor.bytes.read(0..<bytes.count, into: buffer.bytes)
        return StoredTensor(name: name, elementType: elementType, shape: shape, bytes: ByteView(buffer), file: file)
    }

    fileprivate func requireFinite() throws {
        guard elementType.isFloatingPoint else { return }
        try checkFinite(0..<(shape.count == 0 ? 0 : shape.rows))
    }
}
