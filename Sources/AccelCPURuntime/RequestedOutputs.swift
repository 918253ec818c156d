import AccelByteIO
import AccelPrograms
package import AccelTensors

/// The outputs of a run that somebody needs; the others are not copied.
package struct RequestedOutputs: Sendable {
    /// The names of those that are needed whole.
    package let names: Set<String>
    /// An output [batch, positions, width] of which one position is enough, with its index; nil for none. It is the last one if there
    /// are fewer.
    package let position: (name: String, index: Int)?
    /// The subset of `names` that is read before anything else runs, so that these outputs need not be copied.
    package let transient: Set<String>

    package init(_ names: Set<String>, position: (name: String, index: Int)? = nil, transient: Set<String> = []) {
        (self.names, self.position, self.transient) = (names, position, transient)
    }

    /// All names.
    package var allNames: Set<String> { position.map { names.union([$0.name]) } ?? names }

    /// Returns of whole outputs what is needed of them.
    package func reduced(_ outputs: [StoredTensor]) -> [StoredTensor] {
        outputs.compactMap { output in
            if names.contains(output.name) { return output }
            guard let position, position.name == output.name else { return nil }
            return output.position(position.index)
        }
    }
}

extension StoredTensor {
    /// Returns one position of a tensor [batch, positions, width], as [batch, 1, width]; the tensor itself if it has another rank.
    fileprivate func position(_ index: Int) -> StoredTensor {
        guard shape.rank == 3, shape.dimensions[1] > 1 else { return self }
        let width = shape.dimensions[2] * elementType.byteCount
        let count = shape.dimensions[1]
        var part: [UInt8] = []
        part.reserveCapacity(shape.dimensions[0] * width)
        for row in 0..<shape.dimensions[0] {
            let start = (row * count + min(index, count - 1)) * width
            bytes[start..<start + width].withBytes { part.append(contentsOf: $0) }
        }
        return StoredTensor(
            name: name, elementType: elementType, shape: Shape([shape.dimensions[0], 1, shape.dimensions[2]]),
            bytes: ByteView(part))
    }
}

extension Executor {
    /// Runs the function and copies the requested outputs. A run that fails leaves the states unchanged.
    /// - Throws: as the other `run`.
    package func run(_ inputs: [String: StoredTensor], requesting requested: RequestedOutputs) throws -> [StoredTensor]
    {
        try start(with: inputs)
        return try run {
            function.outputs.compactMap { output in
                guard let memory = outputMemory(named: output.name) else { return nil }
                if requested.transient.contains(output.name), let view = memory.view(name: output.name, owner: self) {
                    return view
                }
                if requested.names.contains(output.name) { return memory.stored(name: output.name) }
                guard let position = requested.position, position.name == output.name else { return nil }
                return memory.stored(name: output.name, position: position.index)
            }
        }
    }
}

extension OperandMemory {
    /// The elements in place, until the next run; nil if they are not stored as a tensor's are.
    fileprivate func view(name: String, owner: AnyObject) -> StoredTensor? {
        guard let bytes, isContiguous, [.float32, .int64].contains(operand.elementType) else { return nil }
        let count = shape.count * operand.elementType.byteCount
        return StoredTensor(
            name: name, elementType: operand.elementType, shape: shape,
            bytes: ByteView(owner: owner, start: UnsafeRawPointer(bytes), count: count))
    }

    /// A copy of one position of a value [batch, positions, width], as [batch, 1, width].
    fileprivate func stored(name: String, position: Int) -> StoredTensor {
        guard let bytes, isContiguous, shape.rank == 3, operand.elementType == .float32 else {
            return stored(name: name).position(position)
        }
        let (rows, count) = (shape.dimensions[0], shape.dimensions[1])
        let width = shape.dimensions[2] * operand.elementType.byteCount
        let buffer = ByteBuffer(count: rows * width)
        for row in 0..<rows {
            UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[row * width..<(row + 1) * width]).copyMemory(
                from: UnsafeRawBufferPointer(
                    start: bytes + (row * count + min(position, count - 1)) * width, count: width))
        }
        return StoredTensor(
            name: name, elementType: operand.elementType, shape: Shape([rows, 1, shape.dimensions[2]]),
            bytes: ByteView(buffer))
    }
}
