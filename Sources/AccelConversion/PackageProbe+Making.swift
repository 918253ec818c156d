import AccelByteIO
import AccelCPURuntime
import AccelPackages
import AccelPrograms
import AccelTensors

extension PackageProbe {
    /// The differences that backends are allowed, in units of the largest sample of an output. The CPU and the reference meaning
    /// differ by at most 7.5e-7 on float32 weights over all families and operators; the limit is four times that. Others may
    /// round to float16 inside, which costs 2^-11 a step: 2^-6 still tells a wrong model from a rounded one.
    static let usualTolerances = ["cpu": 3e-6, "reference": 3e-6, anyBackend: 0x1p-6]
    /// Prime, so that no two rows of an input are alike where its width is a power of two.
    private static let mostInputs = 251
    private static let mostSamples = 256

    /// Runs every function on the CPU, each from the initial states.
    /// - Throws: `RequestError` naming an output that is not finite; what the runtime throws.
    init(running plan: ModelPlan, of graph: ModelGraph, threads: Int) throws {
        let model = PreparedModel(plan)
        var runs: [Run] = []
        for (index, function) in graph.functions.enumerated() {
            let session = try Session(model, threads: threads)
            let inputs = function.inputs.enumerated().map { Self.input($1, number: $0, of: function) }
            let tensors = zip(inputs, function.inputs).map { ($0.name, $0.tensor($1.elementType, $1.shape)) }
            let made = try session.run(index, Dictionary(tensors) { first, _ in first })
            let outputs = try made.filter { $0.shape.count > 0 }.map { tensor in
                let output = Output(sampling: tensor, atMost: Self.mostSamples)
                guard output.values.allSatisfy(\.isFinite) else {
                    throw RequestError(
                        "the output \"\(tensor.name)\" of \(function.functionName) is not finite for the inputs of a probe; "
                            + "leave --probe out")
                }
                return output
            }
            runs.append(Run(function: function.functionName, inputs: inputs, outputs: outputs))
        }
        self.init(runs: runs, tolerances: Self.usualTolerances)
    }

    /// Numbers that the port's role takes, spread over their range.
    private static func input(_ port: FrozenProgram.Port, number: Int, of function: FrozenProgram) -> Input {
        let role = function.program.interface.role(of: port.name, .input)
        let count = max(1, min(port.shape.count, mostInputs))
        // 97 generates all residues of the prime.
        let steps = (0..<count).map { ($0 * 97 + number * 31 + 7) % mostInputs }
        func below(_ limit: Int) -> [Double] { steps.map { Double($0 % max(limit, 1)) } }
        let values: [Double] =
            switch role.kind {
            case .tokens: below(role.integer("vocabulary") ?? 1)
            case .tokenTypes, .codes: below(role.integer("count") ?? 1)
            case .attentionMask: [1]
            case .validLength:
                [
                    Double(
                        function.inputs.first { $0.name == role.word("input") }.flatMap { input in
                            role.integer("axis").flatMap {
                                input.shape.dimensions.indices.contains($0) ? input.shape.dimensions[$0] : nil
                            }
                        } ?? 1)
                ]
            default: port.elementType.isFloatingPoint ? steps.map { Double($0 - mostInputs / 2) / 128 } : [0]
            }
        return Input(name: port.name, values: values)
    }
}

extension PackageProbe.Output {
    fileprivate init(sampling tensor: StoredTensor, atMost most: Int) {
        let numbers = PackageProbe.numbers(of: tensor)
        let stride = max(1, (numbers.count + most - 1) / most)
        self.init(
            name: tensor.name, stride: stride,
            values: Swift.stride(from: 0, to: numbers.count, by: stride).map { numbers[$0] })
    }
}
