import AccelByteIO
import AccelTensors

/// Bytes by number, such as the values of samples between two weights: in memory up to a limit, and beyond it in a file without a name.
/// Threads may use different numbers at the same time.
final class SampleStore: Sendable {
    private enum Place {
        case memory(ByteBuffer)
        /// An offset, and the capacity in bytes.
        case file(Int, capacity: Int)
    }
    private struct State {
        var places: [Int: Place] = [:]
        var held = 0
        var file: ScratchFile?
    }
    private let limit: Int
    private let state: Locked<State>

    /// The memory that values of samples take before a file has the rest, in bytes.
    static let window = 256 << 20

    /// - Parameter limit: bytes in memory.
    init(limit: Int = window) {
        self.limit = limit
        state = Locked(State())
    }

    /// Stores the bytes that `fill` writes, in place of those that the number had.
    func store(_ number: Int, count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        let buffer = try state.withLock { state -> ByteBuffer? in
            if case .memory(let buffer)? = state.places[number] {
                if buffer.bytes.count == count { return buffer }
                state.held -= buffer.bytes.count
                state.places[number] = nil
            }
            if case .file? = state.places[number] { return nil }
            guard state.held + count <= limit else { return nil }
            let buffer = try ByteBuffer(allocating: count, for: "the values of samples")
            state.held += count
            state.places[number] = .memory(buffer)
            return buffer
        }
        if let buffer { return try fill(buffer.bytes) }
        let scratch = try ByteBuffer(allocating: count, for: "the values of samples")
        try fill(scratch.bytes)
        try state.withLock { state in
            let file = try state.file ?? ScratchFile(in: ProcessEnvironment.temporaryFolder)
            state.file = file
            if case .file(let offset, let capacity)? = state.places[number], capacity >= count {
                return try file.write(UnsafeRawBufferPointer(scratch.bytes), at: offset)
            }
            let offset = file.count
            try file.append(UnsafeRawBufferPointer(scratch.bytes))
            state.places[number] = .file(offset, capacity: count)
        }
    }

    /// Calls `body` with the first bytes of a number.
    func read<Result>(_ number: Int, count: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
        let (buffer, place) = try state.withLock { state -> (ByteBuffer, Range<Int>) in
            switch state.places[number] {
            case .memory(let buffer)?: return (buffer, 0..<count)
            case .file(let offset, _)?:
                let scratch = try ByteBuffer(allocating: count, for: "the values of samples")
                try state.file?.read(at: offset, into: scratch.bytes)
                return (scratch, 0..<count)
            case nil: return (ByteBuffer(count: count), 0..<count)
            }
        }
        defer { withExtendedLifetime(buffer) {} }
        return try body(UnsafeRawBufferPointer(rebasing: buffer.bytes[place]))
    }
}
