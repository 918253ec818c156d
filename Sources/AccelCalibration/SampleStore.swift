import AccelByteIO
import AccelTensors

/// Bytes by number, such as the values of samples between two weights: in memory up to a limit, and beyond it in a file without a name.
/// Threads may use different numbers at the same time.
final class SampleStore: Sendable {
    private enum Location {
        case memory(ByteBuffer)
        /// An offset, and the capacity in bytes.
        case file(Int, capacity: Int)
    }
    private struct State {
        var locations: [Int: Location] = [:]
        var file: ScratchFile?
    }
    private let memory: SampleMemory
    private let state = Locked(State())

    /// - Parameter memory: the memory for values, of which a file has the rest.
    init(in memory: SampleMemory) { self.memory = memory }

    deinit {
        state.withLock { state in
            for case .memory(let buffer) in state.locations.values { memory.giveBack(buffer.bytes.count) }
        }
    }

    /// Stores the bytes that `fill` writes, in place of those that the number had.
    func store(_ number: Int, count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        let buffer = try state.withLock { state -> ByteBuffer? in
            if case .memory(let buffer)? = state.locations[number] {
                if buffer.bytes.count == count { return buffer }
                memory.giveBack(buffer.bytes.count)
                state.locations[number] = nil
            }
            if case .file? = state.locations[number] { return nil }
            guard memory.take(count) else { return nil }
            let buffer: ByteBuffer
            do {
                buffer = try ByteBuffer(allocating: count, for: "the values of samples")
            } catch {
                memory.giveBack(count)
                throw error
            }
            state.locations[number] = .memory(buffer)
            return buffer
        }
        if let buffer { return try fill(buffer.bytes) }
        let scratch = try ByteBuffer(allocating: count, for: "the values of samples")
        try fill(scratch.bytes)
        try state.withLock { state in
            let file = try state.file ?? ScratchFile(in: ProcessEnvironment.temporaryFolder)
            state.file = file
            if case .file(let offset, let capacity)? = state.locations[number], capacity >= count {
                return try file.write(UnsafeRawBufferPointer(scratch.bytes), at: offset)
            }
            let offset = file.count
            try file.append(UnsafeRawBufferPointer(scratch.bytes))
            state.locations[number] = .file(offset, capacity: count)
        }
    }

    /// Calls `body` with the first bytes of a number.
    func read<Result>(_ number: Int, count: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
        let (buffer, place) = try state.withLock { state -> (ByteBuffer, Range<Int>) in
            switch state.locations[number] {
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
