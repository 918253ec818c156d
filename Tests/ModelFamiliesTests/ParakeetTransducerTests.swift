import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@Suite("Parakeet's transducers against the original framework")
struct ParakeetTransducerTests {
    static let cases = ["parakeet_tdt", "parakeet_rnnt"].map { ParityCase(folder: Fixtures.path($0)) }

    @Test("every golden output of each part is within 4 times the framework's own noise", arguments: cases)
    func parity(subject: ParityCase) throws {
        let model = try subject.model()
        #expect(model.programs.map(\.name) == ["encoder", "predictor", "joint"])
        try subject.expectParity(of: model)
        try subject.expectParity(of: model, by: .executor)
        try subject.expectAccount(of: model)
    }

    @Test("the predictor's states go on from token to token, by the reference and by the runtime", arguments: cases)
    func states(subject: ParityCase) throws {
        let golden = try subject.golden()
        let tokens = HostTensor(try #require(golden["steps.decoder_input_ids"]))
        let expected = HostTensor(try #require(golden["steps.decoder_hidden_states"]))
        let width = expected.shape.dimensions[2]
        let program = try subject.model(parts: ["predictor"]).programs[0].freezing(ShapeBindings(["batch": 2]))
        #expect(program.program.states.map(\.name) == ["lstm.0", "lstm.1"])
        let session = try Session(try CompressedProgram(functions: [program], weights: []).planned())
        var states: [String: HostTensor] = [:]
        for step in 0..<3 {
            let now = HostTensor([tokens.integers[step], tokens.integers[3 + step]], [2, 1])
            let made = try program.evaluate(["decoder_input_ids": now], states: &states)[0].tensor
            let run = try session.run(0, ["decoder_input_ids": now.stored(name: "decoder_input_ids")])
            for row in 0..<2 {
                let wanted = expected.floats[((row * 3 + step) * width)..<((row * 3 + step + 1) * width)]
                for found in [made, HostTensor(run[0])] {
                    let own = found.floats[(row * width)..<((row + 1) * width)]
                    #expect(zip(own, wanted).allSatisfy { abs($0 - $1) < 1e-5 }, "row \(row), step \(step)")
                }
            }
        }
    }

    @Test("roles, and the link of the joint function to the predictor", arguments: cases)
    func interfaces(subject: ParityCase) throws {
        let programs = try subject.model().programs
        #expect(programs.map(\.interface.role) == [.encode, .predict, .join])
        #expect(
            programs[2].interface.links == [
                Interface.Link(input: "decoder_hidden_states", part: "predictor", output: "decoder_hidden_states")
            ])
        let hasDurations = subject.testDescription == "parakeet_tdt"
        #expect(programs[2].interface.outputs["logits"] == .logits(over: .vocabulary))
        #expect(
            programs[2].interface.outputs["duration_logits"] == (hasDurations ? .logits(over: .durations) : nil))
    }

    @Test("a mutated program fails")
    func mutationsAreCaught() throws {
        let subject = ParityCase(folder: Fixtures.path("parakeet_tdt"))
        let model = try subject.model()
        let changes: [(Program.Node, [Value], inout ProgramBuilder) throws -> [Value]?] = [
            { node, inputs, builder in
                guard node.operation is LSTMCell else { return nil }
                return [
                    try builder.apply(
                        LSTMCell(), [inputs[0], inputs[1], inputs[3], inputs[2], inputs[4], inputs[5]])
                ]
            },
            { node, inputs, builder in
                guard node.operation is Relu, node.label.hasPrefix("joint") else { return nil }
                return [try builder.apply(Gelu(.erf), inputs)]
            },
            { node, inputs, _ in node.operation is Add && node.label.hasPrefix("joint") ? [inputs[0]] : nil },
        ]
        for change in changes {
            let deviations = try subject.deviations(of: model) { try $0.rewriting(change) }
            #expect(deviations.contains { $0.inNoise > 40 })
        }
    }

    @Test("a list of durations that fits no model is rejected")
    func durations() throws {
        for value in [[] as JSON, [0, -1], [0, 1, 2], "0"] {
            var checkpoint = try ChangedCheckpoint("parakeet_tdt")
            checkpoint.set("durations", value)
            #expect(checkpoint.rejection() != nil)
        }
    }
}
