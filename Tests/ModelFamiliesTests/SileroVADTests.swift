import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@Suite("Silero VAD against the original model, with its real weights")
struct SileroVADTests {
    static let cases = ParityCase.all(["silero_vad"])

    @Test("each frame's probability and state are within 1e-5", arguments: cases)
    func parity(subject: ParityCase) throws {
        let (golden, model) = (try subject.golden(), try subject.model())
        try subject.expectAccount(of: model)
        #expect(model.unused.isEmpty)
        let program = try model.programs[0].freezing(ShapeBindings(["batch": 1]))
        #expect(program.program.states.map(\.name) == ["state"])
        let planned = try CompressedProgram(functions: [program], weights: []).planned()
        let session = try Session(planned)
        // From the state that the step before made, not the golden one: errors may not grow.
        var states: [String: HostTensor] = [:]
        for step in 0..<6 {
            let frame = HostTensor(try #require(golden["in.frame.\(step)"]))
            let before = try #require(golden["in.state.\(step)"])
            #expect(Self.largest(states["state"] ?? HostTensor(0, filling: HostTensor(before).type), before) <= 1e-5)
            let probability = try program.evaluate(["frame": frame], states: &states)[0].tensor
            let run = try session.run(0, ["frame": frame.stored(name: "frame")])
            let kept = try #require(session.states.value(of: session.states.states[0]))
            for (name, found) in [
                ("prob", probability), ("state", try #require(states["state"])), ("prob", HostTensor(run[0])),
                ("state", HostTensor(kept)),
            ] {
                let expected = try #require(golden["out.\(name).\(step)"])
                #expect(Self.largest(found, expected) <= 1e-5, "\(name).\(step)")
            }
        }
    }

    private static func largest(_ found: HostTensor, _ expected: StoredTensor) -> Float {
        guard found.shape == expected.shape else { return .infinity }
        return zip(found.floats, expected.floats()).map { abs($0 - $1) }.max() ?? .infinity
    }
}
