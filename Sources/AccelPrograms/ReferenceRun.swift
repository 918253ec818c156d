import AccelByteIO
import AccelTensors

/// A run of the operators' reference implementations that goes on node by node. It holds the values that later nodes
/// read, and nothing else: a weight is read while its node runs, a state from the first node that reads it on, and a
/// result is handed over at once.
package struct ReferenceRun {
    /// A result of a function.
    package enum Result: Hashable, Sendable {
        /// The output of this name.
        case output(String)
        /// The content of the state of this name for the next run.
        case state(String)
    }

    /// Computes the results of a node.
    package typealias Evaluation = (Program.Node, [ReferenceOperand]) throws -> [HostTensor]

    private let program: Program
    private let constants: [Value: Program.Constant]
    private let states: [Value: Program.State]
    private let results: [Value: [Result]]
    /// The results that no node makes, which are given after the last node.
    private let unmade: Set<Value>
    private var values: [Value: HostTensor] = [:]
    private var uses: [Value: Int]
    /// The bytes of the values that are held.
    package private(set) var live = 0
    /// The index of the node that runs next.
    private var position = 0

    /// - Parameter inputs: the tensor of every input, by name.
    package init(of function: FrozenProgram, _ inputs: [String: HostTensor]) {
        program = function.program
        constants = Dictionary(uniqueKeysWithValues: program.constants.map { ($0.value, $0) })
        states = Dictionary(program.states.map { ($0.value, $0) }) { first, _ in first }
        var results: [Value: [Result]] = [:]
        for output in program.outputs { results[output.value, default: []].append(.output(output.name)) }
        for state in program.states { results[state.next, default: []].append(.state(state.name)) }
        self.results = results
        unmade = Set(results.keys).subtracting(program.nodes.flatMap(\.outputs))
        uses = [:]
        for value in program.nodes.flatMap(\.inputs) { uses[value, default: 0] += 1 }
        for input in program.inputs {
            guard let tensor = inputs[input.name] else { continue }
            values[input.value] = tensor
            live += tensor.byteCount
        }
    }

    /// Returns the most bytes that a run of a function holds at one time: values, states, a node's results, the weights that it
    /// reads at once, and its working memory.
    package static func peakBytes(of function: FrozenProgram) -> Int {
        let program = function.program
        func bytes(_ values: some Sequence<Value>) -> Int {
            MachineMemory.sum(values.map { program.type(of: $0).hostBytes })
        }
        let constants = Set(program.constants.map(\.value))
        var lastUse: [Value: Int] = [:]
        for (index, node) in program.nodes.enumerated() { for value in node.inputs { lastUse[value] = index } }
        var live = Set(program.inputs.map(\.value))
        var peak = bytes(live)
        for (index, node) in program.nodes.enumerated() {
            let isStreaming = node.operation is any StreamingOperator
            live.formUnion(node.inputs.filter { !constants.contains($0) })
            let read = isStreaming ? [] : node.inputs.filter(constants.contains)
            let work = isStreaming ? 0 : node.operation.workBytes(node.inputs.compactMap { program.type(of: $0).shape })
            peak = max(peak, MachineMemory.sum([bytes(live), bytes(node.outputs), bytes(read), work]))
            live.formUnion(node.outputs.filter { lastUse[$0] != nil })
            live = live.filter { lastUse[$0, default: 0] > index }
        }
        return peak
    }

    /// Runs the next node.
    /// - Parameters:
    ///   - initial: returns the content of a state by name; nil for its initial value. Called when a node first reads it.
    ///   - constant: returns a weight or table; called for each node that reads it.
    ///   - evaluate: computes a node, by its reference implementation unless another is given.
    ///   - give: called with each result of the function that the node makes.
    /// - Returns: the node and its outputs; nil after the last.
    /// - Throws: as `FrozenProgram.evaluate`.
    package mutating func next(
        initial: (String) throws -> HostTensor?, constant: (Program.Constant) throws -> ReferenceOperand,
        evaluate: Evaluation = { try $0.operation.evaluate(operands: $1) },
        give: (Result, HostTensor) throws -> Void
    ) throws -> (node: Program.Node, outputs: [HostTensor])? {
        guard program.nodes.indices.contains(position) else {
            if position == program.nodes.count { try giveTheRest(initial, constant, give) }
            return nil
        }
        let node = program.nodes[position]
        position += 1
        let subject = "\(node.operation.name) \"\(node.label)\""
        let operands = try node.inputs.map { value in
            guard let operand = try operand(of: value, initial, constant) else {
                throw ShapeError(operator: subject, reason: "an input has no value")
            }
            return operand
        }
        let outputs = try run(node, on: operands, subject, evaluate)
        for (value, output) in zip(node.outputs, outputs) {
            for result in results[value] ?? [] { try give(result, output) }
            guard uses[value, default: 0] > 0 else { continue }
            values[value] = output
            live += output.byteCount
        }
        for value in node.inputs {
            uses[value, default: 0] -= 1
            if uses[value] == 0, !unmade.contains(value), let gone = values.removeValue(forKey: value) {
                live -= gone.byteCount
            }
        }
        return (node, outputs)
    }

    private mutating func operand(
        of value: Value, _ initial: (String) throws -> HostTensor?,
        _ constant: (Program.Constant) throws -> ReferenceOperand
    ) throws -> ReferenceOperand? {
        if let tensor = values[value] { return .tensor(tensor) }
        if let known = constants[value] { return try constant(known) }
        return try states[value].map { state in
            let type = program.type(of: value)
            try MachineMemory.require(type.hostBytes, besides: live, for: "state \"\(state.name)\" of \(program.name)")
            let tensor =
                try initial(state.name)?.converted(to: type.elementType) ?? HostTensor(state.initial, filling: type)
            values[value] = tensor
            live += tensor.byteCount
            return .tensor(tensor)
        }
    }

    private func run(
        _ node: Program.Node, on operands: [ReferenceOperand], _ subject: String, _ evaluate: Evaluation
    ) throws -> [HostTensor] {
        let types = node.outputs.map(program.type)
        let isStreaming = node.operation is any StreamingOperator
        // Of a streamed weight only some rows are in memory.
        let constantTypes = isStreaming ? [] : node.inputs.filter { values[$0] == nil }.map(program.type)
        let work = isStreaming ? 0 : node.operation.workBytes(operands.map(\.shape))
        try MachineMemory.require(
            MachineMemory.sum((types + constantTypes).map(\.hostBytes) + [work]), besides: live,
            for: "the reference run of \(subject)")
        // Checked first: an empty tensor may still have a very large number of rows, which evaluation would loop over.
        let isEmpty = types.allSatisfy { $0.shape?.dimensions.contains(0) ?? false }
        do {
            return isEmpty ? types.map { HostTensor(0, filling: $0) } : try evaluate(node, operands)
        } catch let error as OperatorError {
            throw ShapeError(operator: subject, reason: error.description)
        }
    }

    /// Gives the results that no node makes: inputs, constants, and states that keep or exchange their content.
    private mutating func giveTheRest(
        _ initial: (String) throws -> HostTensor?, _ constant: (Program.Constant) throws -> ReferenceOperand,
        _ give: (Result, HostTensor) throws -> Void
    ) throws {
        position += 1
        for value in unmade.sorted(by: { $0.id < $1.id }) {
            guard let tensor = try operand(of: value, initial, constant)?.tensor else { continue }
            for result in results[value] ?? [] { try give(result, tensor) }
        }
    }
}
