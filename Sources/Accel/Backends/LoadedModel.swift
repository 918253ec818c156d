public import AccelByteIO
public import AccelCPURuntime
public import AccelPrograms
public import AccelTensors

/// A model that a backend has loaded. It may be used from several threads.
public protocol LoadedModel: Sendable {
    /// The functions in the package's order.
    var functions: [FunctionDescription] { get }
    /// Makes a session with its own states at their initial values. Sessions of one model may run concurrently.
    /// - Throws: `AccelError` if the backend cannot make one.
    func makeSession() throws(AccelError) -> any ModelSession
    /// How a function runs; nil if the backend does not know.
    /// - Parameter function: the function's name, e.g. `model[batch=1,sequence=128]`.
    /// - Throws: `AccelError` (not found) for an unknown function.
    func plan(of function: String) throws(AccelError) -> ComputePlan?
}

extension LoadedModel {
    /// Backends that know nothing of kernels have no plan.
    public func plan(of function: String) throws(AccelError) -> ComputePlan? { nil }
}

/// A session: the functions of a model with one set of states. Only one thread at a time may use it.
public protocol ModelSession: AnyObject {
    /// Runs a function. A failed run does not change the states, and the session stays usable.
    /// - Parameters:
    ///   - function: the function's name, e.g. `model[batch=1,sequence=128]`.
    ///   - inputs: all inputs of the function by name.
    ///   - outputs: the names of the outputs to return; nil for all.
    ///   - cancellation: ends the run early; nil if nothing does.
    /// - Returns: the outputs by name.
    /// - Throws: `AccelError` with the location of an input or output that does not fit; (cancelled) or (timed out) for a
    ///   run that ended early.
    func run(
        _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?, until cancellation: Cancellation?
    ) throws(AccelError) -> [String: StoredTensor]
    /// Runs a function whose outputs go to memory of the caller's; otherwise as the other one. Backends that have no way of their own
    /// to do so copy them there.
    /// - Parameter memory: one element for each requested output, of its bytes.
    /// - Returns: the outputs without memory, by name.
    func run(
        _ function: String, _ inputs: [String: StoredTensor], into memory: [OutputMemory],
        until cancellation: Cancellation?
    ) throws(AccelError) -> [String: StoredTensor]
    /// Returns copies of the states that runs have changed, by their names. All others are at their initial values.
    func snapshot() throws(AccelError) -> [StoredTensor]
    /// Sets the states to the values of a snapshot; states that are not in it get their initial values.
    func restore(_ snapshot: [StoredTensor]) throws(AccelError)
    /// Sets all states to their initial values.
    func reset()
}

extension ModelSession {
    /// Runs a function to its end.
    public func run(
        _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?
    ) throws(AccelError) -> [String: StoredTensor] {
        try run(function, inputs, outputs: outputs, until: nil)
    }

    public func run(
        _ function: String, _ inputs: [String: StoredTensor], into memory: [OutputMemory],
        until cancellation: Cancellation?
    ) throws(AccelError) -> [String: StoredTensor] {
        var made = try run(function, inputs, outputs: Set(memory.map(\.name)), until: cancellation)
        for output in memory {
            guard let bytes = output.bytes else { continue }
            guard let tensor = made.removeValue(forKey: output.name), tensor.bytes.count == bytes.count else {
                throw AccelError(
                    .backend, "did not make \(bytes.count) bytes", at: "\(function), output \"\(output.name)\"")
            }
            tensor.bytes.withBytes { bytes.copyMemory(from: $0) }
        }
        return made
    }
}

/// The signature of one function of a model: inputs, outputs and states.
public struct FunctionDescription: Equatable, Sendable {
    /// An input, output or state.
    public struct Port: Hashable, Sendable {
        /// The name, unique among the inputs, outputs or states of the function.
        public let name: String
        /// The element type of its tensors.
        public let elementType: ElementType
        /// The fixed shape of its tensors.
        public let shape: Shape
        /// The role of the port, e.g. tokens or logits.
        public let role: Role
        /// Type and shape, e.g. `I64[1,128]`.
        public var typeText: String { "\(elementType.rawValue)\(shape)" }
    }

    /// The name with the shape bindings, e.g. `model[batch=1,sequence=128]`.
    public let name: String
    /// The name of the model's part, e.g. `encoder`.
    public let part: String
    /// The numbers of the symbolic dimensions, e.g. 128 for `sequence`.
    public let bindings: [String: Int]
    /// The role of the function, e.g. encode.
    public let role: FunctionRole
    /// The inputs; a run needs all of them.
    public let inputs: [Port]
    /// The outputs.
    public let outputs: [Port]
    /// The states. Functions with a state of the same name, type and shape share it.
    public let states: [Port]

    /// The signature of a package's function.
    public init(_ function: FrozenProgram) {
        let interface = function.program.interface
        func port(_ port: FrozenProgram.Port, _ side: RoleRule.Side) -> Port {
            Port(
                name: port.name, elementType: port.elementType, shape: port.shape,
                role: interface.role(of: port.name, side))
        }
        (name, part, role) = (function.functionName, function.program.name, interface.role)
        bindings = function.bindings.numbers
        inputs = function.inputs.map { port($0, .input) }
        outputs = function.outputs.map { port($0, .output) }
        states = function.states.map { port($0.port, .state) }
    }

    /// Checks the inputs and the requested outputs of a run.
    /// - Throws: `AccelError` with the location, the expected and the found value.
    public func check(_ given: [String: StoredTensor], outputs asked: Set<String>?) throws(AccelError) {
        for name in given.keys.sorted() where !inputs.contains(where: { $0.name == name }) {
            throw unknown("input", name, among: inputs)
        }
        for port in inputs {
            let path = "\(name), input \"\(port.name)\""
            guard let tensor = given[port.name] else {
                throw AccelError(
                    .invalid, "is missing; expected \(port.typeText)", at: path, expected: port.typeText)
            }
            guard tensor.elementType == port.elementType, tensor.shape == port.shape else {
                throw AccelError(
                    .invalid, expected: port.typeText, found: "\(tensor.elementType.rawValue)\(tensor.shape)",
                    at: path)
            }
        }
        for name in (asked ?? []).sorted() where !outputs.contains(where: { $0.name == name }) {
            throw unknown("output", name, among: outputs)
        }
    }

    /// Checks that outputs of a run fit the memory that they go to.
    /// - Throws: `AccelError` with the location, the expected and the found number of bytes.
    func check(_ memory: [OutputMemory]) throws(AccelError) {
        for output in memory {
            guard let bytes = output.bytes, let port = outputs.first(where: { $0.name == output.name }) else {
                continue
            }
            let expected = port.shape.count * port.elementType.byteCount
            guard bytes.count == expected else {
                throw AccelError(
                    .invalid, expected: "\(expected) bytes", found: "\(bytes.count)",
                    at: "\(name), output \"\(output.name)\"")
            }
        }
    }

    private func unknown(_ kind: String, _ name: String, among ports: [Port]) -> AccelError {
        let names = ports.map(\.name)
        return AccelError(
            .notFound, "there is no such \(kind); there is: \(names.isEmpty ? "none" : names.joined(separator: ", "))",
            at: "\(self.name), \(kind) \"\(name)\"", hint: AccelError.suggestion(for: name, among: names))
    }
}

extension [FunctionDescription] {
    /// Returns the index of the function of a name.
    /// - Throws: `AccelError` (not found) with the known names.
    public func index(named name: String) throws(AccelError) -> Int {
        if let index = firstIndex(where: { $0.name == name }) { return index }
        let names = map(\.name)
        throw AccelError(
            .notFound, "there is no such function; there is: \(names.joined(separator: ", "))",
            at: "function \"\(name)\"", hint: AccelError.suggestion(for: name, among: names))
    }

    /// Returns the function of a name: the whole one, or the part's if one function only has it.
    /// - Parameter shape: the numbers of symbolic dimensions that tell functions of a part apart; others may be left out.
    /// - Throws: `AccelError` (not found) with the functions that there are; (invalid) if more than one fits.
    func function(_ name: String, shape: [String: Int]?) throws(AccelError) -> FunctionDescription {
        var found = filter { $0.name == name }
        if found.isEmpty { found = filter { $0.part == name } }
        if found.isEmpty {
            let names = map(\.name)
            throw AccelError(
                .notFound, "there is no such function; there is: \(names.joined(separator: ", "))",
                at: "function \"\(name)\"",
                hint: AccelError.suggestion(for: name, among: names + map(\.part)))
        }
        let known = found
        if let shape { found.removeAll { function in shape.contains { function.bindings[$0.key] != $0.value } } }
        guard found.count == 1 else {
            let wanted = (shape ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(
                separator: ",")
            let names = known.map(\.name).joined(separator: ", ")
            if found.isEmpty {
                throw AccelError(
                    .notFound, "no function has the shape \(wanted); there is: \(names)", at: "function \"\(name)\"")
            }
            throw AccelError(
                .invalid, "\(found.count) functions fit: \(found.map(\.name).joined(separator: ", "))",
                at: "function \"\(name)\"", hint: "name one of them, or give `shape:`")
        }
        return found[0]
    }
}
