package import AccelByteIO
package import AccelPrograms
package import AccelTensors

extension Diagnostic.Code {
    /// A model has outputs that are not finite for the inputs of a probe.
    package static let probeNotFinite: Self = "probe-not-finite"
}

extension PackageProbe {
    /// The differences that backends are allowed, in units of the largest sample of an output. The CPU and the reference meaning
    /// differ by at most 7.5e-7 on float32 weights over all families and operators; the limit is four times that. Others may
    /// round to float16 inside, which costs 2^-11 a step: 2^-6 still tells a wrong model from a rounded one.
    static let usualTolerances = ["cpu": 3e-6, "reference": 3e-6, anyBackend: 0x1p-6]
    /// Prime, so that no two rows of an input are alike where its width is a power of two.
    private static let mostInputs = 251
    private static let mostSamples = 256

    /// Samples the outputs of every function of a package.
    /// - Parameter run: runs a function on the CPU, by its index, from its initial states.
    /// - Throws: `RequestError` naming an output that is not finite; what `run` throws.
    package init(of graph: ModelGraph, running run: (Int, [String: StoredTensor]) throws -> [StoredTensor]) throws {
        var runs: [Run] = []
        for (index, function) in graph.functions.enumerated() {
            let inputs = function.inputs.enumerated().map { Self.input($1, number: $0, of: function) }
            let tensors = zip(inputs, function.inputs).map { ($0.name, $0.tensor($1.elementType, $1.shape)) }
            let made = try run(index, Dictionary(tensors) { first, _ in first })
            let outputs = try made.filter { $0.shape.count > 0 }.map { tensor in
                let output = Output(sampling: tensor, atMost: Self.mostSamples)
                guard output.values.allSatisfy(\.isFinite) else {
                    throw RequestError(
                        "the output \"\(tensor.name)\" of \(function.functionName) is not finite for the inputs of a probe",
                        code: .probeNotFinite)
                }
                return output
            }
            runs.append(Run(function: function.functionName, inputs: inputs, outputs: outputs))
        }
        self.init(runs: runs, tolerances: Self.usualTolerances)
    }

    /// Returns how this probe differs from one that the CPU made of the same package; nil if it does not. Samples may differ as far as a
    /// backend's on the CPU, since another processor may have made them.
    package func difference(from made: PackageProbe) -> String? {
        guard tolerances == made.tolerances else { return "its tolerances are not those that a conversion writes" }
        guard runs.map(\.function) == made.runs.map(\.function) else {
            return "its runs are not those of the functions"
        }
        for (own, other) in zip(runs, made.runs) {
            guard own.inputs == other.inputs else {
                return "its inputs of \(own.function) are not those that a conversion chooses"
            }
            let layouts = [own, other].map { $0.outputs.map { "\($0.name) \($0.stride) \($0.values.count)" } }
            guard layouts[0] == layouts[1] else {
                return "its samples of \(own.function) are not of the outputs that the function has"
            }
            for (found, wanted) in zip(own.outputs, other.outputs) {
                let differences = found.differences(of: wanted.values)
                guard let index = differences.firstIndex(where: { $0 > tolerance(of: "cpu") }) else { continue }
                return
                    "element \(index * found.stride) of the output \"\(found.name)\" of \(own.function) is \(found.values[index]), but the "
                    + "function gives \(wanted.values[index])"
            }
        }
        return nil
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
    /// The differences of other samples of the output, in units of the largest of these; infinite for numbers that are not finite.
    package func differences(of numbers: [Double]) -> [Double] {
        let scale = values.map(abs).max() ?? 0
        return zip(numbers, values).map { number, expected in
            number == expected ? 0 : scale > 0 && number.isFinite ? abs(number - expected) / scale : .infinity
        }
    }

    fileprivate init(sampling tensor: StoredTensor, atMost most: Int) {
        let numbers = PackageProbe.numbers(of: tensor)
        let stride = max(1, (numbers.count + most - 1) / most)
        self.init(
            name: tensor.name, stride: stride,
            values: Swift.stride(from: 0, to: numbers.count, by: stride).map { numbers[$0] })
    }
}
