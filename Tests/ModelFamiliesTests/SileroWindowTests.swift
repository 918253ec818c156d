import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

/// The part with the ports of FluidAudio against the part of single frames, by the loop of FluidAudio's VadManager.
@Suite("Windows of Silero VAD for FluidAudio")
struct SileroWindowTests {
    /// A model of Silero VAD's sizes with small random weights.
    private static func write(to folder: String) throws {
        try EnergyDetector.write(to: folder)
        var random = SeededGenerator(seed: 3)
        let tensors = try SafetensorsFile("\(folder)/model.safetensors").tensors.map { tensor in
            let most: Float = tensor.name.hasPrefix("stft") ? 1 : 0.3
            // Probabilities are small, so that those of eight frames show in the result.
            let range: ClosedRange<Float> = tensor.name == "final_conv.bias" ? -3 ... -3 : -most...most
            return StoredTensor(
                name: tensor.name, floats: (0..<tensor.shape.count).map { _ in .random(in: range, using: &random) },
                shape: tensor.shape)
        }
        try Files.removeTree("\(folder)/model.safetensors")
        try SafetensorsWriter.write(tensors, to: "\(folder)/model.safetensors", as: .part)
    }

    @Test("The part is built by name only")
    func names() throws {
        try withTemporaryFolder { folder in
            try Self.write(to: folder)
            let subject = ParityCase(folder: folder)
            #expect(try subject.model(parts: [FamilyModel.everyPart]).programs.map(\.name) == ["model"])
            let model = try subject.model(parts: ["unified_256ms"])
            #expect(model.programs.map(\.name) == ["unified_256ms"] && model.unused.isEmpty)
            try subject.expectAccount(of: model)
        }
    }

    @Test(
        "A window gives the states of eight frames, and the probability that any of them is speech",
        arguments: ParityCase.Engine.allCases)
    func windows(engine: ParityCase.Engine) throws {
        try withTemporaryFolder { folder in
            try Self.write(to: folder)
            let subject = ParityCase(folder: folder)
            let frames = try #require(try subject.model().programs.first).freezing(ShapeBindings(["batch": 1]))
            let window = try #require(try subject.model(parts: ["unified_256ms"]).programs.first)
                .freezing(ShapeBindings())
            var random = SeededGenerator(seed: 5)
            let sound = (0..<2 * 4096).map { _ in Float.random(in: -0.05...0.05, using: &random) }
            var states: [String: HostTensor] = [:]
            let zeros = HostTensor([Float](repeating: 0, count: 128), [1, 128])
            var halves = ["hidden_state", "cell_state"].map { ($0, zeros) }
            var context = [Float](repeating: 0, count: 64)
            var frameContext = context
            for first in [0, 4096] {
                let chunk = Array(sound[first..<first + 4096])
                var inputs = Dictionary(uniqueKeysWithValues: halves)
                inputs["audio_input"] = HostTensor(context + chunk, [1, 4160])
                let made = try engine.outputs(of: window, inputs).reduce(into: [String: HostTensor]()) {
                    $0[$1.name] = $1.tensor
                }
                context = Array(chunk.suffix(64))
                var silence: Float = 1
                for start in stride(from: 0, to: 4096, by: 512) {
                    let frame = Array(chunk[start..<start + 512])
                    let result = try frames.evaluate(
                        ["frame": HostTensor(frameContext + frame, [1, 576])], states: &states)
                    silence *= 1 - result[0].tensor.floats[0]
                    frameContext = Array(frame.suffix(64))
                }
                let output = try #require(made["vad_output"])
                #expect(output.shape == [1, 1, 1] && abs(output.floats[0] - (1 - silence)) < 1e-4)
                #expect((0.01..<0.99).contains(silence), "\(silence)")
                halves = try ["hidden_state", "cell_state"].map { name in (name, try #require(made["new_\(name)"])) }
                let state = try #require(states["state"]).floats
                let joined = halves.flatMap(\.1.floats)
                #expect(zip(joined, state).allSatisfy { abs($0 - $1) < 1e-4 } && joined.count == state.count)
            }
        }
    }
}
