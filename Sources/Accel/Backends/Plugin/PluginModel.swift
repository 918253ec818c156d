import AccelByteIO
import AccelPrograms
import AccelTensors
import CAccelPlugin

/// Something of a plug-in's that its function frees with the last reference.
final class PluginHandle: @unchecked Sendable {
    // Safe: the pointer is only passed to the plug-in, whose models may be used from several threads; sessions are not shared.
    let pointer: UnsafeMutableRawPointer
    private let free: @convention(c) (UnsafeMutableRawPointer?) -> Void
    /// A session's model, which is freed after the session.
    private let parent: PluginHandle?

    init(
        _ pointer: UnsafeMutableRawPointer, in parent: PluginHandle? = nil,
        freedBy free: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void
    ) {
        (self.pointer, self.parent, self.free) = (pointer, parent, free)
    }
    deinit { free(pointer) }
}

struct PluginModel: LoadedModel {
    private let handle: PluginHandle
    private let library: PluginLibrary
    let functions: [FunctionDescription]

    init(_ handle: PluginHandle, functions: [FunctionDescription], library: PluginLibrary) {
        (self.handle, self.functions, self.library) = (handle, functions, library)
    }

    func makeSession() throws(AccelError) -> any ModelSession {
        var session: UnsafeMutableRawPointer?
        try library.call("make_session", at: "a session") { library.makeSession(handle.pointer, &session, $0) }
        guard let session else {
            throw AccelError(
                .backend, "make_session succeeded without a session", at: "plug-in \(library.id)",
                hint: "the plug-in has to set *session")
        }
        return PluginSession(
            PluginHandle(session, in: handle, freedBy: library.freeSession), functions, library: library)
    }
}

/// A session of a plug-in. Its snapshots are one tensor of bytes that only the plug-in understands.
private final class PluginSession: ModelSession {
    private static let stateName = "plug-in state"
    private let session: PluginHandle
    private let functions: [FunctionDescription]
    private let library: PluginLibrary

    init(_ session: PluginHandle, _ functions: [FunctionDescription], library: PluginLibrary) {
        (self.session, self.functions, self.library) = (session, functions, library)
    }

    func run(
        _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?, until cancellation: Cancellation?
    ) throws(AccelError) -> [String: StoredTensor] {
        let index = try functions.index(named: function)
        try functions[index].check(inputs, outputs: outputs)
        // A plug-in that looks too late at `should_stop` must not run at all.
        do { try cancellation?.check() } catch { throw AccelError(error, at: function) }
        var buffers: [OutputBuffer] = []
        for (number, port) in functions[index].outputs.enumerated() where outputs?.contains(port.name) ?? true {
            buffers.append(try OutputBuffer(port, index: number))
        }
        let given = functions[index].inputs.compactMap { inputs[$0.name] }
        do throws(AccelError) {
            try call(index, given, buffers, cancellation)
        } catch {
            // The plug-in knows only that it had to stop.
            guard error.code == .cancelled, let cancellation else { throw error }
            do { try cancellation.check() } catch { throw AccelError(error, at: function) }
            throw error
        }
        var made: [String: StoredTensor] = [:]
        for buffer in buffers { made[buffer.port.name] = try buffer.tensor(of: function, by: library.id) }
        return made
    }

    private func call(
        _ index: Int, _ inputs: [StoredTensor], _ outputs: [OutputBuffer], _ cancellation: Cancellation?
    ) throws(AccelError) {
        let names = LentMemory()
        func tensor(_ name: String, _ port: Int, _ data: UnsafeMutableRawPointer?, _ count: Int) -> accel_plugin_tensor
        {
            var result = accel_plugin_tensor()
            result.struct_size = UInt32(MemoryLayout<accel_plugin_tensor>.size)
            (result.port, result.name) = (UInt32(clamping: port), names.string(name))
            (result.data, result.byte_count) = (data, count)
            return result
        }
        // Views stay where they are while their tensors live.
        let given = inputs.enumerated().map { port, input in
            input.bytes.withBytes {
                tensor(input.name, port, UnsafeMutableRawPointer(mutating: $0.baseAddress), $0.count)
            }
        }
        defer { withExtendedLifetime((names, inputs, outputs, cancellation)) {} }
        var wanted = outputs.map { tensor($0.port.name, $0.index, $0.memory.bytes.baseAddress, $0.byteCount) }
        var run = accel_plugin_run()
        run.struct_size = UInt32(MemoryLayout<accel_plugin_run>.size)
        run.function = index
        (run.input_count, run.output_count) = (given.count, wanted.count)
        run.context = cancellation.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) }
        run.should_stop = { context in
            guard let context else { return 0 }
            return Unmanaged<Cancellation>.fromOpaque(context).takeUnretainedValue().isCancelled ? 1 : 0
        }
        let place = functions[index].name
        let status: Result<Void, AccelError> = given.withUnsafeBufferPointer { given in
            wanted.withUnsafeMutableBufferPointer { wanted in
                run.inputs = given.baseAddress
                run.outputs = wanted.baseAddress
                do throws(AccelError) {
                    try library.call("run", at: place) { library.run(session.pointer, &run, $0) }
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
        }
        try status.get()
        for (buffer, tensor) in zip(outputs, wanted) { buffer.written = tensor.written }
    }

    func snapshot() throws(AccelError) -> [StoredTensor] {
        let count = library.stateSize(session.pointer)
        guard count > 0 else { return [] }
        let memory: ByteBuffer
        do { memory = try ByteBuffer(allocating: count, for: "the state of a plug-in") } catch {
            throw AccelError(error, at: "plug-in \(library.id), a snapshot")
        }
        try library.call("save_state", at: "a snapshot") {
            library.saveState(session.pointer, memory.bytes.baseAddress, count, $0)
        }
        return [
            StoredTensor(name: Self.stateName, elementType: .uint8, shape: [count], bytes: ByteView(memory))
        ]
    }

    func restore(_ snapshot: [StoredTensor]) throws(AccelError) {
        guard let state = snapshot.first else { return reset() }
        guard snapshot.count == 1, state.name == Self.stateName, state.elementType == .uint8 else {
            throw AccelError(
                .notFound, "there is no such state: this is no snapshot of the plug-in \(library.id)",
                at: "state \"\(state.name)\"")
        }
        try state.bytes.withBytes { bytes throws(AccelError) in
            _ = try library.call("load_state", at: "a snapshot") {
                library.loadState(session.pointer, bytes.baseAddress, bytes.count, $0)
            }
        }
    }

    func reset() { library.reset(session.pointer) }
}

/// Memory for an output, with bytes behind it that no plug-in may write.
private final class OutputBuffer {
    private static let (guardCount, guardByte) = (64, UInt8(0xA5))
    let port: FunctionDescription.Port
    let index: Int
    let memory: ByteBuffer
    var byteCount: Int { port.shape.count * port.elementType.byteCount }
    /// The number of bytes that the plug-in reports as written.
    var written = 0

    init(_ port: FunctionDescription.Port, index: Int) throws(AccelError) {
        (self.port, self.index) = (port, index)
        let count = port.shape.count * port.elementType.byteCount + Self.guardCount
        do { memory = try ByteBuffer(allocating: count, for: "an output") } catch {
            throw AccelError(error, at: "output \"\(port.name)\"")
        }
        for offset in byteCount..<byteCount + Self.guardCount { memory.bytes[offset] = Self.guardByte }
    }

    func tensor(of function: String, by id: BackendID) throws(AccelError) -> StoredTensor {
        let place = "plug-in \(id), \(function), output \"\(port.name)\""
        guard memory.bytes[byteCount..<byteCount + Self.guardCount].allSatisfy({ $0 == Self.guardByte }) else {
            throw AccelError(
                .backend, "the plug-in wrote beyond the \(byteCount) bytes of \(port.typeText)", at: place,
                hint: "end the process: its memory may be damaged; repair the plug-in")
        }
        guard written == byteCount else {
            throw AccelError(
                .backend, "expected \(byteCount) bytes of \(port.typeText), the plug-in wrote \(written)", at: place,
                expected: "\(byteCount) bytes of \(port.typeText)", found: "\(written)",
                hint: "the plug-in runs another model than the package, or does not set `written`")
        }
        return StoredTensor(
            name: port.name, elementType: port.elementType, shape: port.shape,
            bytes: ByteView(memory)[0..<byteCount])
    }
}
