import Accel
public import AccelPrograms
public import AccelTensors
import AccelWeightCompression

/// A package, and runs of its functions with what they have to give.
public struct ConformanceCase: Sendable {
    /// One run in a sequence.
    public struct Run: Sendable {
        public let function: String
        public let inputs: [String: StoredTensor]
        /// By the reference meaning, on the weights as they are stored.
        public internal(set) var expected: [String: HostTensor] = [:]
        /// What a framework gave for the original weights.
        public var golden: [Golden]

        public init(_ function: String, _ inputs: [String: StoredTensor], golden: [Golden] = []) {
            (self.function, self.inputs, self.golden) = (function, inputs, golden)
        }
    }
    public struct Golden: Sendable {
        public let output: String
        public let floats: [Float]
        /// The largest absolute difference that is allowed.
        public let limit: Double

        public init(_ output: String, _ floats: [Float], limit: Double) {
            (self.output, self.floats, self.limit) = (output, floats, limit)
        }
    }

    public let name: String
    /// Of the package.
    public let path: String
    /// Each starts from the initial states.
    public private(set) var sequences: [[Run]]
    /// The largest difference from the reference meaning, in units of the largest number of an output. By default it is 4
    /// times what was measured for the CPU over six families and all operators: 7.5e-7, in float32 on x86-64.
    public let tolerance: Double
    let functions: [FunctionDescription]

    /// Computes what the runs have to give.
    /// - Throws: what opening the package throws, and the reference meaning for values that have none.
    public init(_ name: String, package path: String, _ sequences: [[Run]], tolerance: Double = 3e-6) throws {
        let graph = try AcceleratorPackage(at: path).graph
        (self.name, self.path, self.tolerance) = (name, path, tolerance)
        functions = graph.functions.map(FunctionDescription.init)
        self.sequences = try sequences.map { sequence in
            var states: [FrozenProgram.Port: HostTensor] = [:]
            return try sequence.map { run in
                var run = run
                let function = graph.functions[
                    try graph.functions.map(FunctionDescription.init).index(named: run.function)]
                let made = try graph.run(function, run.inputs.mapValues { HostTensor($0) }, &states)
                run.expected = Dictionary(made.map { ($0.name, $0.tensor) }) { first, _ in first }
                return run
            }
        }
    }
}

extension ModelGraph {
    /// Runs a function by its reference meaning on the weights as they are stored.
    public func run(
        _ function: FrozenProgram, _ inputs: [String: HostTensor], _ states: inout [FrozenProgram.Port: HostTensor]
    ) throws -> [(name: String, tensor: HostTensor)] {
        let weights = Dictionary(tensors.map { ($0.name, $0) }) { first, _ in first }
        var values: [String: HostTensor] = [:]
        for state in function.states { values[state.name] = states[state.port] }
        let made = try function.evaluate(inputs, states: &values) { constant in
            guard let weight = weights[constant.name], let bytes = weight.sections.first else {
                return try HostTensor(constant.requireTensor())
            }
            if weight.elementType.isFloatingPoint { return HostTensor(weight.floats(), weight.shape) }
            return HostTensor(
                StoredTensor(name: weight.name, elementType: weight.elementType, shape: weight.shape, bytes: bytes))
        }
        for state in function.states { states[state.port] = values[state.name] }
        return made
    }
}
