import AccelByteIO
public import AccelPrograms
public import AccelTensors

/// The states of a program's functions, such as a key/value cache, kept between runs. Functions that have a state of
/// the same name, type and shape share it, so a prefill function fills the cache that a decode function reads.
///
///     let states = try StateMemory(program)
///     let executors = try program.functions.indices.map { try Executor(program, function: $0, states: states) }
///     let branch = states.copy()          // after some runs
///     try states.restore(branch)          // goes on from there once more
///     states.reset()                      // starts again
///
/// A run that fails leaves states as it found them. Executors that share a memory must not run at the same time, nor may
/// it be changed while one runs.
public final class StateMemory: Sendable {
    private let slots: Locked<[StateSlot]>

    /// The states of all functions, each once; sorted by name, and where functions differ in a shape, by that.
    public let states: [FrozenProgram.State]
    /// The bytes of all states together. A state takes memory when a function that has it is prepared.
    public let byteCount: Int

    /// - Throws: `FormatError` when functions that share a state do not agree on its initial value, or when one is too
    ///   large.
    public convenience init(_ program: ModelPlan) throws {
        try self.init(program.functions)
    }

    package init(_ functions: [FunctionPlan]) throws {
        var known: [FrozenProgram.Port: FrozenProgram.State] = [:]
        for function in functions {
            for state in function.states {
                _ = try state.port.byteCount(in: function.name)
                if let other = known[state.port], other.initial != state.initial {
                    throw FormatError(
                        file: function.name,
                        reason: "state \"\(state.name)\" starts as \(state.initial), but elsewhere as \(other.initial)")
                }
                known[state.port] = state
            }
        }
        states = known.values.sorted {
            $0.name == $1.name
                ? $0.shape.dimensions.lexicographicallyPrecedes($1.shape.dimensions) : $0.name < $1.name
        }
        byteCount = MachineMemory.sum(try states.map { try $0.port.byteCount(in: $0.name) })
        // All at once, though each is taken when it is needed.
        try MachineMemory.require(byteCount, for: "the state of the functions")
        slots = Locked(states.map { StateSlot(state: $0) })
    }

    /// The memory of a state, for whatever runs on it.
    /// - Throws: `RequestError` when there is no such state here.
    func buffer(of state: FrozenProgram.State) throws -> ByteBuffer {
        try slots.withLock { slots in
            guard let index = slots.firstIndex(where: { $0.state == state }) else {
                throw RequestError(
                    "there is no state \"\(state.name)\" of type \(state.typeText): the states are another program's")
            }
            return try slots[index].memory()
        }
    }

    /// Gives all states their initial values again.
    public func reset() {
        slots.withLock { slots in
            for slot in slots { slot.reset() }
        }
    }

    /// Gives a state its initial value again, and its memory back to the system until something next touches it.
    package func discard(_ state: FrozenProgram.State) {
        slots.withLock { slots in slots.first { $0.state == state }?.discard() }
    }

    /// A copy of all states that a run has used or that were set, with their names, in the order of `states`. The
    /// others have their initial values. `restore` accepts it, and it can be saved as a safetensors file.
    public func copy() -> [StoredTensor] {
        slots.withLock { $0.compactMap { $0.copy() } }
    }

    /// Returns the value of a state; nil if there is no state of this name.
    public func value(of state: FrozenProgram.State) -> StoredTensor? {
        slots.withLock { slots in
            guard let index = slots.firstIndex(where: { $0.state == state }) else { return nil }
            return slots[index].copy() ?? state.initialValue
        }
    }

    /// Returns the value of a state as numbers; nil if there is no such state.
    package func tensor(of state: FrozenProgram.State) -> HostTensor? {
        slots.withLock { slots in
            guard let index = slots.firstIndex(where: { $0.state == state }) else { return nil }
            // The content is copied before something can write it.
            return HostTensor.content(slots[index].content ?? state.initialValue)
        }
    }

    /// Sets the value of one state.
    /// - Throws: `RequestError` if there is no such state, or if the value has another type.
    package func set(_ value: HostTensor, of state: FrozenProgram.State) throws {
        guard case .float32(let floats) = value.elements,
            value.type == TensorType(state.elementType, shape: state.shape)
        else { return try set([value.stored(name: state.name)]) }
        let buffer = try buffer(of: state)
        floats.withUnsafeBytes { buffer.bytes.copyMemory(from: $0) }
    }

    /// Gives states the values of a copy. States that it does not name get their initial values.
    /// - Throws: `RequestError` for one that there is no state like; then nothing has changed.
    public func restore(_ copy: [StoredTensor]) throws {
        try set(copy, resetsOthers: true)
    }

    /// Sets the values of some states and leaves the others unchanged.
    /// - Parameter values: called as states are, each of the state's type and shape.
    /// - Throws: `RequestError` for one that there is no state like; then nothing has changed.
    public func set(_ values: [StoredTensor]) throws {
        try set(values, resetsOthers: false)
    }

    private func set(_ values: [StoredTensor], resetsOthers: Bool) throws {
        try slots.withLock { slots in
            let indices = try values.map { value in
                guard let index = slots.firstIndex(where: { $0.isLike(value) }) else { throw unknown(value) }
                return index
            }
            let buffers = try indices.map { try slots[$0].memory() }
            if resetsOthers {
                for slot in slots { slot.reset() }
            }
            for (buffer, value) in zip(buffers, values) {
                value.bytes.withBytes { buffer.bytes.copyMemory(from: $0) }
            }
        }
    }

    private func unknown(_ value: StoredTensor) -> RequestError {
        let alike = states.filter { $0.name == value.name }.map(\.typeText)
        let found = "\(value.elementType.rawValue)\(value.shape)"
        guard alike.isEmpty else {
            return RequestError("state \"\(value.name)\": expected \(alike.joined(separator: " or ")), found \(found)")
        }
        let names = Set(states.map(\.name)).sorted()
        let hint = suggestion(for: value.name, among: names)
        let has = names.isEmpty ? "none" : names.joined(separator: ", ")
        return RequestError("there is no state \"\(value.name)\"\(hint) (there is: \(has))")
    }
}

/// A state, and its memory once something needs it.
private struct StateSlot {
    let state: FrozenProgram.State
    private var buffer: ByteBuffer?

    init(state: FrozenProgram.State) { self.state = state }

    func isLike(_ tensor: StoredTensor) -> Bool {
        state.name == tensor.name && state.elementType == tensor.elementType && state.shape == tensor.shape
    }

    /// Its memory, with the initial value when it is new.
    mutating func memory() throws -> ByteBuffer {
        if let buffer { return buffer }
        // A cache is as long as the longest text, and most texts are short.
        let new = try ByteBuffer(
            allocating: state.port.byteCount(in: "state"), for: "state \"\(state.name)\"", isSparse: true)
        buffer = new
        if state.initial != 0 { reset() }
        return new
    }

    func discard() {
        if state.initial == 0 { buffer?.clear() } else { reset() }
    }

    func reset() {
        guard let buffer else { return }
        guard state.initial != 0 else {
            _ = buffer.bytes.initializeMemory(as: UInt8.self, repeating: 0)
            return
        }
        state.initialValue.bytes.withBytes { buffer.bytes.copyMemory(from: $0) }
    }

    /// Its content, which is valid until the memory is written; nil without memory.
    var content: StoredTensor? { buffer.map(tensor) }

    func copy() -> StoredTensor? {
        buffer.map { buffer in
            let copy = ByteBuffer(count: buffer.bytes.count)
            copy.bytes.copyMemory(from: UnsafeRawBufferPointer(buffer.bytes))
            return tensor(copy)
        }
    }

    private func tensor(_ buffer: ByteBuffer) -> StoredTensor {
        StoredTensor(name: state.name, elementType: state.elementType, shape: state.shape, bytes: ByteView(buffer))
    }
}

extension FrozenProgram.State {
    /// The value before the first run.
    var initialValue: StoredTensor {
        HostTensor(initial, filling: TensorType(elementType, shape: shape)).stored(name: name)
    }
}

extension FrozenProgram.Port {
    /// - Throws: `FormatError` when it overflows.
    func byteCount(in function: String) throws -> Int {
        guard let count = shape.checkedCount,
            case let (bytes, overflow) = count.multipliedReportingOverflow(by: elementType.byteCount), !overflow
        else { throw FormatError(file: function, reason: "\"\(name)\" is too large") }
        return bytes
    }
}
