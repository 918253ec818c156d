public import AccelByteIO
public import AccelTensors

/// Where an output of a run goes. The memory has to stay until the run has ended, and nothing else may use it during the run.
public struct OutputMemory: @unchecked Sendable {
    /// The name of the output.
    public let name: String
    /// The memory for all of its bytes, in row-major order; nil returns the output as a tensor.
    public let bytes: UnsafeMutableRawBufferPointer?

    /// An output with its memory, or without.
    public init(_ name: String, _ bytes: UnsafeMutableRawBufferPointer?) { (self.name, self.bytes) = (name, bytes) }
}

extension Executor {
    /// Runs the function on inputs that are read where they lie, unless they are not aligned to their element type, and writes outputs to
    /// memory of the caller's. A run that fails writes nothing, and leaves the states unchanged.
    /// - Parameters:
    ///   - inputs: all inputs of the function, by name.
    ///   - memory: the requested outputs.
    ///   - cancellation: ends the run early, between pieces of work.
    /// - Returns: the requested outputs without memory.
    /// - Throws: as the other `run`; `RequestError` for an output that the function does not have, or memory of another size.
    public func run(
        _ inputs: [String: StoredTensor], into memory: [OutputMemory], until cancellation: Cancellation? = nil
    ) throws -> [StoredTensor] {
        let targets = try memory.map { target in
            guard let output = outputMemory(named: target.name) else {
                throw RequestError("\(function.name) has no output \"\(target.name)\"")
            }
            let expected = output.shape.count * output.elementType.byteCount
            guard target.bytes.map({ $0.count == expected }) ?? true else {
                throw RequestError(
                    "output \"\(target.name)\" of \(function.name): expected \(expected) bytes, "
                        + "found \(target.bytes?.count ?? 0)")
            }
            return (output, target)
        }
        try start(borrowing: inputs)
        try run(until: cancellation)
        var returned: [StoredTensor] = []
        for (output, target) in targets {
            guard let bytes = target.bytes else {
                returned.append(output.stored(name: target.name))
                continue
            }
            output.copy(to: bytes)
        }
        return returned
    }
}

extension OperandMemory {
    /// Copies the elements, row-major, to memory of their size.
    fileprivate func copy(to target: UnsafeMutableRawBufferPointer) {
        if let bytes, isContiguous {
            target.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: target.count))
        } else {
            stored(name: "").bytes.withBytes { target.copyMemory(from: $0) }
        }
    }
}
