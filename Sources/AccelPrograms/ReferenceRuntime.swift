import AccelByteIO
import AccelTensors

extension FrozenProgram {
    /// Runs the reference implementations of the operators, on the original weights unless `constant` returns others.
    /// - Parameter inputs: the tensor of every input, by name.
    /// - Parameter states: the content of states by name; missing ones have their initial value, and ones
    ///   of another floating-point type are converted. After the run: the content for the next run.
    /// - Parameter constant: returns the elements of a weight or table; called for each node that reads it.
    /// - Parameter observe: called with each node and its outputs, in program order.
    /// - Returns: The outputs by name, in program order.
    /// - Throws: `ShapeError` naming the operator for values that are not valid, such as an index out of range;
    ///   `RequestError` (unavailable) if memory does not suffice.
    public func evaluate(
        _ inputs: [String: HostTensor], states: inout [String: HostTensor],
        constant: (Program.Constant) throws -> HostTensor = { try HostTensor($0.requireTensor()) },
        observe: (Program.Node, [HostTensor]) throws -> Void = { _, _ in }
    ) throws -> [(name: String, tensor: HostTensor)] {
        try evaluate(inputs, states: &states, operand: { .tensor(try constant($0)) }, observe: observe)
    }

    /// Runs the reference implementations, with weights whose rows are read when they are needed.
    /// - Parameter evaluate: computes a node, by its reference implementation unless another is given.
    package func evaluate(
        _ inputs: [String: HostTensor], states: inout [String: HostTensor],
        operand: (Program.Constant) throws -> ReferenceOperand,
        evaluate: ReferenceRun.Evaluation = { try $0.operation.evaluate(operands: $1) },
        observe: (Program.Node, [HostTensor]) throws -> Void = { _, _ in }
    ) throws -> [(name: String, tensor: HostTensor)] {
        try MachineMemory.require(
            MachineMemory.sum(program.states.map { program.type(of: $0.value).hostBytes }),
            for: "the state of \(program.name)")
        let before = states
        var run = ReferenceRun(of: self, inputs)
        var (outputs, after): ([String: HostTensor], [String: HostTensor]) = ([:], [:])
        func give(_ result: ReferenceRun.Result, _ tensor: HostTensor) {
            switch result {
            case .output(let name): outputs[name] = tensor
            case .state(let name): after[name] = tensor
            }
        }
        while let (node, results) = try run.next(
            initial: { before[$0] }, constant: operand, evaluate: evaluate, give: give)
        {
            try observe(node, results)
        }
        states.merge(after) { $1 }
        return program.outputs.compactMap { output in outputs[output.name].map { (output.name, $0) } }
    }

    /// Checks that inputs and states fit into memory.
    /// - Throws: `RequestError` (unavailable) if they do not.
    package func requireMemoryForInputs() throws {
        let values = program.inputs.map(\.value) + program.states.map(\.value)
        try MachineMemory.require(
            MachineMemory.sum(values.map { program.type(of: $0).hostBytes }), for: "the input of \(functionName)")
    }

    /// Runs the reference implementations with all states at their initial values. See
    /// `evaluate(_:states:constant:observe:)`.
    public func evaluate(
        _ inputs: [String: HostTensor],
        constant: (Program.Constant) throws -> HostTensor = { try HostTensor($0.requireTensor()) },
        observe: (Program.Node, [HostTensor]) throws -> Void = { _, _ in }
    ) throws -> [(name: String, tensor: HostTensor)] {
        var states: [String: HostTensor] = [:]
        return try evaluate(inputs, states: &states, constant: constant, observe: observe)
    }
}
