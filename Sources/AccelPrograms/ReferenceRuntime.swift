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
        var values: [Value: HostTensor] = [:]
        var live = 0
        var uses = program.useCounts
        try MachineMemory.require(
            MachineMemory.sum(program.states.map { program.type(of: $0.value).hostBytes }),
            for: "the state of \(program.name)")
        for input in program.inputs { values[input.value] = inputs[input.name] }
        for state in program.states {
            values[state.value] =
                states[state.name]?.converted(to: program.type(of: state.value).elementType)
                ?? HostTensor(state.initial, filling: program.type(of: state.value))
        }
        let constants = Dictionary(uniqueKeysWithValues: program.constants.map { ($0.value, $0) })
        for node in program.nodes {
            let subject = "\(node.operation.name) \"\(node.label)\""
            let arguments = try node.inputs.map { value in
                guard let tensor = try values[value] ?? constants[value].map(constant) else {
                    throw ShapeError(operator: subject, reason: "an input has no value")
                }
                return tensor
            }
            let results: [HostTensor]
            let types = node.outputs.map(program.type)
            let constantTypes = node.inputs.filter { values[$0] == nil }.map(program.type)
            let work = node.operation.workBytes(arguments.map(\.shape))
            try MachineMemory.require(
                MachineMemory.sum((types + constantTypes).map(\.hostBytes) + [work]), besides: live,
                for: "the reference run of \(subject)")
            do {
                // Checked first: an empty tensor may still have a very large number of rows, which evaluation would
                // loop over.
                let isEmpty = types.allSatisfy { $0.shape?.dimensions.contains(0) ?? false }
                results = isEmpty ? types.map { HostTensor(0, filling: $0) } : try node.operation.evaluate(arguments)
            } catch let error as OperatorError {
                throw ShapeError(operator: subject, reason: error.description)
            }
            for (value, result) in zip(node.outputs, results) {
                values[value] = result
                live += result.byteCount
            }
            try observe(node, results)
            for value in node.inputs {
                uses[value, default: 0] -= 1
                if uses[value] == 0, let gone = values.removeValue(forKey: value) { live -= gone.byteCount }
            }
        }
        for state in program.states { states[state.name] = values[state.next] }
        return try program.outputs.compactMap { output in
            (try values[output.value] ?? constants[output.value].map(constant)).map { (output.name, $0) }
        }
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
