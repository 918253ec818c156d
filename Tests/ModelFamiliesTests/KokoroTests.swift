import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

import func Foundation.cos
import func Foundation.sin

@Suite("Kokoro's vocoder against the original framework")
struct KokoroTests {
    static let cases = ParityCase.all(["kokoro"])
    static let generators = cases.filter { (try? $0.golden()["in.har"]) != nil }

    @Test("audio and spectrum are within 4 times the framework's own noise", arguments: cases)
    func parity(subject: ParityCase) throws {
        let model = try subject.model()
        try subject.expectAccount(of: model)
        let deviations = try subject.deviations(of: model)
        #expect(deviations.count >= 2)
        for deviation in deviations { #expect(deviation.inNoise <= 4, "\(deviation)") }
    }

    @Test(
        "the harmonic source is the framework's: magnitudes, and angles where there is a magnitude",
        arguments: generators)
    func source(subject: ParityCase) throws {
        let golden = try #require(try subject.golden()["out.har"])
        let program = try #require(try subject.model(parts: ["har_source"]).programs.first)
        let har = try #require(try subject.outputs(of: program).first).tensor
        #expect(har.shape == golden.shape)
        for (found, expected) in zip(points(har.floats), points(golden.floats())) {
            #expect(abs(found.x - expected.x) <= 2e-4 && abs(found.y - expected.y) <= 2e-4)
        }
    }

    /// Magnitudes and angles as points of the plane: an angle means nothing where the magnitude is small.
    private func points(_ har: [Float]) -> [(x: Double, y: Double)] {
        let half = har.count / 2
        return zip(har[..<half], har[half...]).map { magnitude, angle in
            (x: Double(magnitude) * cos(Double(angle)), y: Double(magnitude) * sin(Double(angle)))
        }
    }

    /// The inputs of the golden file with `extra` more frames of rubbish behind them.
    private func padded(_ subject: ParityCase, by extra: Int) throws -> (inputs: [String: HostTensor], frames: Int) {
        let golden = try subject.golden()
        let source = try #require(golden["in.x_pre"])
        let frames = source.shape.dimensions[2]
        let har = try #require(golden["in.har"])
        func stretched(_ name: String, by count: Int) throws -> HostTensor {
            let tensor = HostTensor(try #require(golden["in.\(name)"]))
            let (sizes, floats) = (tensor.shape.dimensions, tensor.floats)
            let rubbish = (0..<count).map { Float($0 % 7) * 3 - 8 }
            var longer: [Float] = []
            for row in 0..<sizes[0] * sizes[1] {
                longer += floats[row * sizes[2]..<(row + 1) * sizes[2]] + rubbish
            }
            return HostTensor(longer, [sizes[0], sizes[1], sizes[2] + count])
        }
        let inputs = [
            "x_pre": try stretched("x_pre", by: extra),
            "har": try stretched("har", by: (har.shape.dimensions[2] - 1) / frames * extra),
            "ref_s": HostTensor(try #require(golden["in.ref_s"])),
            "length": HostTensor([Int64(frames)], [1]),
        ]
        return (inputs, frames)
    }

    @Test(
        "padding to a bucket does not change the valid audio", arguments: [1, 5], ParityCase.Engine.allCases)
    func bucket(extra: Int, engine: ParityCase.Engine) throws {
        let subject = ParityCase(folder: Fixtures.path("kokoro_small"))
        let exact = try #require(try subject.model(parts: ["generator"]).programs.first)
        let audio = try #require(try subject.outputs(of: exact, by: engine).first { $0.name == "audio" }).tensor.floats
        let (inputs, frames) = try padded(subject, by: extra)
        let program = try #require(try subject.model(parts: ["generator_bucket"]).programs.first)
        let frozen = try program.freezing(ShapeBindings(["batch": 1, "frames": frames + extra]))
        let found = try #require(try engine.outputs(of: frozen, inputs).first).tensor.floats
        #expect(found.count == audio.count / frames * (frames + extra))
        #expect(Array(found[..<audio.count]) == audio)
        #expect(found[audio.count...].allSatisfy { $0 == 0 })
    }

    @Test("both spellings of normed weights, with and without the name of a wrapped module, are one model")
    func spellings() throws {
        let subject = ParityCase(folder: Fixtures.path("kokoro_small"))
        let parts = ["decoder_pre", "har_source", "generator"]
        let stored = try subject.model(parts: parts)
        var changed = try ChangedCheckpoint("kokoro_small")
        changed.tensors = changed.tensors.map { tensor in
            var name = tensor.name.replacing(/^decoder\./, with: "decoder.module.")
            name = name.replacing(/weight_g$/, with: "parametrizations.weight.original0")
            name = name.replacing(/weight_v$/, with: "parametrizations.weight.original1")
            return StoredTensor(
                name: name, elementType: tensor.elementType, shape: tensor.shape, bytes: tensor.bytes)
        }
        let other = try changed.withCheckpoint {
            try Families.matching($0.configuration).model(for: $0, parts: parts)
        }
        #expect(other.used.contains { $0.hasSuffix("original0") } && other.used.count == stored.used.count)
        for (one, two) in zip(stored.programs, other.programs) {
            #expect(
                try one.constants.map { try HostTensor($0.requireTensor()) }
                    == two.constants.map { try HostTensor($0.requireTensor()) })
        }
    }

    @Test("the text side of a checkpoint stays unused, and everything else is used")
    func account() throws {
        let model = try ParityCase(folder: Fixtures.path("kokoro_small")).model(
            parts: ["decoder_pre", "har_source", "generator"])
        #expect(model.programs.map(\.name) == ["decoder_pre", "har_source", "generator"])
        #expect(model.unused.map(\.name) == ["bert.embeddings.weight", "predictor.F0_proj.bias"])
        #expect(
            model.unused.allSatisfy { $0.reason == "belongs to the text side, which runs before the vocoder" })
    }

    /// A change of the program that parity has to notice.
    enum Mutation: CaseIterable {
        case roughInverse, replicated, otherSlope, unscaledShortcut, otherSnake, shiftedStyle

        func apply(_ node: Program.Node, _ inputs: [Value], _ builder: inout ProgramBuilder) throws -> [Value]? {
            switch (self, node.operation) {
            // As upstream's own transform does it: windows are not divided out.
            case (.roughInverse, is Divide) where node.label.hasPrefix("istft"):
                return [inputs[0]]
            case (.replicated, let pad as Pad):
                return [try builder.apply(Pad(.edge, before: pad.before, after: pad.after), inputs)]
            case (.otherSlope, let leaky as LeakyRelu) where leaky.slope == 0.01:
                return [try builder.apply(LeakyRelu(slope: 0.1), inputs)]
            case (.unscaledShortcut, is Multiply) where node.label == "decode.3.multiply":
                return [inputs[0]]
            case (.otherSnake, is Snake):
                return [try builder.apply(Snake(epsilon: 1e-3), inputs)]
            case (.shiftedStyle, let slice as Slice) where node.label.contains("adain2.1.slice"):
                return [try builder.apply(Slice(begin: [0, 1], sizes: slice.sizes), inputs)]
            default: return nil
            }
        }
    }

    @Test("a mutated program fails", arguments: Mutation.allCases)
    func mutationsAreCaught(mutation: Mutation) throws {
        let subject = ParityCase(folder: Fixtures.path("kokoro_small"))
        let deviations = try subject.deviations(of: try subject.model()) { try $0.rewriting(mutation.apply) }
        #expect(deviations.contains { $0.inNoise > 40 })
    }
}
