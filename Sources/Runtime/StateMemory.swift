import ByteIO
import Programs
import Synchronization
public import Tensors

/// The states of the functions of a package, such as a key/value cache: what one run leaves for the next. All start out
/// as zeros. Functions that have a state of the same name, type and shape share it, so a prefill function fills the cache
/// that a step function reads.
///
/// Executors that share one must not run at the same time.
public final class StateMemory: Sendable {
    private struct Key: Hashable {
        let name: String
        let elementType: ElementType
        let shape: Shape
    }
    private let buffers = Mutex<[Key: ByteBuffer]>([:])

    public init() {}

    /// The memory of one state, made when it is first asked for.
    func buffer(of port: CompiledFunction.Port, in function: String) throws -> ByteBuffer {
        let count = try port.byteCount(in: function)
        return buffers.withLock { buffers in
            let key = Key(name: port.name, elementType: port.elementType, shape: port.shape)
            if let buffer = buffers[key] { return buffer }
            let buffer = ByteBuffer(count: count)
            buffers[key] = buffer
            return buffer
        }
    }

    /// Makes all states zeros again.
    public func reset() {
        buffers.withLock { buffers in
            for buffer in buffers.values { _ = buffer.bytes.initializeMemory(as: UInt8.self, repeating: 0) }
        }
    }

    /// A copy of all states, called as they are; sorted by name. `restore` takes it back.
    public func copy() -> [StoredTensor] {
        buffers.withLock { buffers in
            buffers.map { key, buffer in
                StoredTensor(
                    name: key.name, elementType: key.elementType, shape: key.shape,
                    bytes: ByteView(Array(UnsafeRawBufferPointer(buffer.bytes))))
            }
        }.sorted { ($0.name, $0.shape.description) < ($1.name, $1.shape.description) }
    }

    /// Gives states the values of a copy. States that it does not name become zeros.
    /// - Throws: `RequestError` for one that there is no state like.
    public func restore(_ copy: [StoredTensor]) throws {
        reset()
        try buffers.withLock { buffers in
            for tensor in copy {
                let key = Key(name: tensor.name, elementType: tensor.elementType, shape: tensor.shape)
                guard let buffer = buffers[key] else {
                    throw RequestError(
                        "there is no state \"\(tensor.name)\" of type \(tensor.elementType.rawValue)\(tensor.shape)")
                }
                tensor.bytes.withBytes { buffer.bytes.copyMemory(from: $0) }
            }
        }
    }
}

extension CompiledFunction.Port {
    /// - Throws: `FormatError` when it overflows.
    func byteCount(in function: String) throws -> Int {
        guard let count = shape.checkedCount,
            case let (bytes, overflow) = count.multipliedReportingOverflow(by: elementType.byteCount), !overflow
        else { throw FormatError(file: function, reason: "\"\(name)\" is too large") }
        return bytes
    }
}
