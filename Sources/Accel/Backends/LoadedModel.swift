public import AccelPrograms
public import AccelTensors

/// A model that a backend has made ready. Many threads may use it.
public protocol LoadedModel: Sendable {
    /// In the order of the package.
    var functions: [FunctionDescription] { get }
    /// A session with states of its own, at their initial values. Sessions of one model may run at the same time.
    func makeSession() throws(AccelError) -> any ModelSession
}

/// The functions of a model over one memory of states. One thread at a time may use it.
public protocol ModelSession: AnyObject {
    /// Runs a function. A run that fails leaves the states as they were, and the session usable.
    /// - Parameters:
    ///   - inputs: by name, all of the function's.
    ///   - outputs: the names of those that are asked for; nil: all.
    /// - Returns: outputs by name.
    /// - Throws: `AccelError` with the location of what does not fit.
    func run(
        _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?
    ) throws(AccelError) -> [String: StoredTensor]
    /// Copies of the states that runs have used, called as they are; the others are at their initial values.
    func snapshot() throws(AccelError) -> [StoredTensor]
    /// Gives states the values of a snapshot, and those that it does not name their initial values.
    func restore(_ snapshot: [StoredTensor]) throws(AccelError)
    /// Gives all states their initial values.
    func reset()
}

/// One function of a model: what goes in and out, and what it keeps from run to run.
public struct FunctionDescription: Equatable, Sendable {
    public struct Port: Equatable, Sendable {
        public let name: String
        public let elementType: ElementType
        public let shape: Shape
        /// What it means.
        public let role: Role
        /// Type and shape, e.g. `I64[1,128]`.
        public var typeText: String { "\(elementType.rawValue)\(shape)" }
    }

    /// e.g. `model[batch=1,sequence=128]`
    public let name: String
    /// The part of the model, e.g. `encoder`.
    public let part: String
    public let role: FunctionRole
    public let inputs: [Port]
    public let outputs: [Port]
    /// Functions that have a state of the same name, type and shape share it.
    public let states: [Port]

    /// What a package says of a function.
    public init(_ function: FrozenProgram) {
        let interface = function.program.interface
        func port(_ port: FrozenProgram.Port, _ side: RoleRule.Side) -> Port {
            Port(
                name: port.name, elementType: port.elementType, shape: port.shape,
                role: interface.role(of: port.name, side))
        }
        (name, part, role) = (function.functionName, function.program.name, interface.role)
        inputs = function.inputs.map { port($0, .input) }
        outputs = function.outputs.map { port($0, .output) }
        states = function.states.map { port($0.port, .state) }
    }

    /// Refuses inputs and names of outputs that are not the function's.
    /// - Throws: `AccelError` with the location, what was expected and what was found.
    public func check(_ given: [String: StoredTensor], outputs asked: Set<String>?) throws(AccelError) {
        for name in given.keys.sorted() where !inputs.contains(where: { $0.name == name }) {
            throw unknown("input", name, among: inputs)
        }
        for port in inputs {
            let place = "\(name), input \"\(port.name)\""
            guard let tensor = given[port.name] else {
                throw AccelError(.invalid, "is missing; expected \(port.typeText)", at: place)
            }
            guard tensor.elementType == port.elementType, tensor.shape == port.shape else {
                throw AccelError(
                    .invalid, "expected \(port.typeText), found \(tensor.elementType.rawValue)\(tensor.shape)",
                    at: place)
            }
        }
        for name in (asked ?? []).sorted() where !outputs.contains(where: { $0.name == name }) {
            throw unknown("output", name, among: outputs)
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
    /// The index of the function of a name.
    /// - Throws: `AccelError` (not found) with the names that there are.
    public func index(named name: String) throws(AccelError) -> Int {
        if let index = firstIndex(where: { $0.name == name }) { return index }
        let names = map(\.name)
        throw AccelError(
            .notFound, "there is no such function; there is: \(names.joined(separator: ", "))",
            at: "function \"\(name)\"", hint: AccelError.suggestion(for: name, among: names))
    }
}
