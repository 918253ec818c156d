import ModelFamilies
import Programs
import Tensors
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
        var state = HostTensor(try #require(golden["in.state.0"]))
        for step in 0..<6 {
            let frame = HostTensor(try #require(golden["in.frame.\(step)"]))
            // The state that the step before made, not the golden one: errors may not grow.
            let outputs = try program.evaluate(["frame": frame, "state": state])
            for (name, tensor) in outputs {
                let expected = HostTensor(try #require(golden["out.\(name).\(step)"]))
                #expect(tensor.type == expected.type)
                let largest = zip(tensor.floats, expected.floats).map { abs($0 - $1) }.max() ?? .infinity
                #expect(largest <= 1e-5, "\(name).\(step)")
                if name == "state" { state = tensor }
            }
        }
    }
}
