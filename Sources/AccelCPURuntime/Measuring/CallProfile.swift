import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The work of a kernel call, and its time in the last run of its function.
public struct CallProfile: Sendable {
    /// The call in the execution plan.
    public let call: KernelCall
    /// The name of the kernel that computed it.
    public let kernel: String
    /// The encoding of the stored weight that the call reads, e.g. `int4:block=32`; nil if it reads none.
    public let encoding: String?
    /// The time that the call took; zero before a run.
    public var duration: Duration
    /// The call runs together with others; its time is the part of theirs that its multiply-adds are of all. Zero for a sum that the
    /// product before it computes.
    public let isJoined: Bool
    /// The name of the stored weight that the call reads; nil if it reads none.
    public let weight: String?
    /// The call is attention over a cache, or writes into one: its bytes and multiply-adds are those of the whole cache, and a run reads and
    /// writes some of its positions.
    public var isOfCache: Bool {
        (call.operation is Attention || call.operation is UpdateSlice)
            && (call.inputs + call.outputs).contains { if case .state = $0.storage { true } else { false } }
    }
    /// Bytes that the call has to read and write: stored weights as they are stored, each once. Of a table that is read
    /// by index, only the rows that are read.
    public let byteCount: Int
    /// Products of two numbers that are added up.
    public let multiplyAdds: Int

    /// The share of the machine's limit that the call reached: of multiply-adds or of bytes, whichever is larger.
    public func share(of limits: MachineLimits) -> Double {
        let seconds = max(duration / .seconds(1), 1e-9)
        return max(
            Double(multiplyAdds) / seconds / limits.multiplyAddsPerSecond,
            Double(byteCount) / seconds / limits.bytesPerSecond)
    }
}

extension Executor {
    /// The calls of the last run, in order. All durations are zero before the first run.
    public var profile: [CallProfile] {
        let kernels = kernelNames
        return function.calls.enumerated().map { index, call in
            CallProfile(
                call, calls[index], kernel: kernels[index], duration: durations[index],
                isJoined: joined.contains { $0.calls.contains(index) && $0.calls.count > 1 })
        }
    }
}

extension CallProfile {
    /// The work of a call of an execution plan, with its kernel.
    init(
        _ call: KernelCall, _ prepared: PreparedCall, kernel: String, duration: Duration = .zero, isJoined: Bool = false
    ) {
        (self.call, self.kernel, self.duration, self.isJoined) = (call, kernel, duration, isJoined)
        let stored = prepared.inputs.lazy.compactMap(\.storedWeight).first
        (encoding, weight) = (stored?.encoding, stored?.tensor.name)
        byteCount = prepared.byteCount
        multiplyAdds = call.operation.multiplyAdds(call.inputs.map(\.shape))
    }
}

extension PreparedCall {
    /// Bytes that the call has to read and write.
    fileprivate var byteCount: Int {
        let rowsRead = operation is Gather ? input("indices")?.shape.count : nil
        return (inputs + outputs).reduce(0) { sum, operand in
            guard let weight = operand.storedWeight else {
                return sum + operand.shape.count * operand.elementType.byteCount
            }
            let bytes = weight.tensor.sections.reduce(0) { $0 + $1.count }
            guard let rowsRead, weight.rows > 0 else { return sum + bytes }
            return sum + bytes / weight.rows * min(rowsRead, weight.rows)
        }
    }
}
