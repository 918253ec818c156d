package import AccelPrograms
import AccelTensors

extension Executor {
    /// Copies of the outputs of a call that has just run.
    package func results(ofCall index: Int) -> [HostTensor] { calls[index].outputs.map { $0.tensor() } }

    /// Calls `body` with the elements of an output after the last call, row-major: where they are, if they follow each other.
    /// - Returns: nil, without a call, unless the output is float32.
    package func withFloats<Result>(
        ofOutput index: Int, _ body: (UnsafeBufferPointer<Float>) throws -> Result
    ) rethrows -> Result? {
        let memory = outputMemory[index]
        guard memory.elementType == .float32 else { return nil }
        if let floats = memory.contiguousFloats {
            return try body(UnsafeBufferPointer(start: floats, count: memory.shape.count))
        }
        return try memory.tensor().floats.withUnsafeBufferPointer(body)
    }
}
