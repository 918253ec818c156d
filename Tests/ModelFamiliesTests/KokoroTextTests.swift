import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@Suite("Kokoro's text side against the original framework")
struct KokoroTextTests {
    static let subject = ParityCase(folder: Fixtures.path("phonemes_kokoro"))

    /// The golden inputs of a part, with `extra` more positions of other values on the axis of time.
    private func inputs(_ part: String, extra: Int = 0) throws -> (inputs: [String: HostTensor], length: Int) {
        let golden = try Self.subject.golden()
        func input(_ name: String) throws -> HostTensor { HostTensor(try #require(golden["in.\(name)"])) }
        guard part == "prosody" else {
            let ids = try input("input_ids").integers
            let longer = ids + (0..<extra).map { Int64($0 % 5) }
            return (
                [
                    "input_ids": HostTensor(longer, [1, longer.count]), "style": try input("style"),
                    "length": HostTensor([Int64(ids.count)], [1]),
                ], ids.count
            )
        }
        let en = try input("en")
        let (rows, count) = (en.shape.dimensions[1], en.shape.dimensions[2])
        let rubbish: [Float] = (0..<extra).map { Float($0 % 7) * 3 - 8 }
        var longer: [Float] = []
        for row in 0..<rows { longer += en.floats[row * count..<(row + 1) * count] + rubbish }
        return (
            [
                "en": HostTensor(longer, [1, rows, count + extra]), "style": try input("style"),
                "length": HostTensor([Int64(count)], [1]),
            ], count
        )
    }

    private func outputs(
        _ part: String, extra: Int = 0, by engine: ParityCase.Engine,
        changing change: (Program) throws -> Program = { $0 }
    ) throws -> [String: HostTensor] {
        let program = try change(try #require(try Self.subject.model(parts: [part]).programs.first))
        let (inputs, length) = try inputs(part, extra: extra)
        let time = part == "prosody" ? "asr_frames" : "sequence"
        let frozen = try program.freezing(ShapeBindings(["batch": 1, time: length + extra]))
        let found = try engine.outputs(of: frozen, inputs)
        return Dictionary(uniqueKeysWithValues: found.map { ($0.name, $0.tensor) })
    }

    /// The largest difference of an output from the float64 reference, in units of the framework's own noise.
    private func inNoise(_ name: String, _ tensor: HostTensor) throws -> Double {
        let reference = try #require(try Self.subject.golden()["ref64.\(name)"])
        guard reference.shape == tensor.shape else { return .infinity }
        let noise = try Self.subject.facts()["fp32_noise"][name]["max_abs_fp32_vs_64"].double()
        return (zip(tensor.floats, reference.doubles()).map { abs(Double($0) - $1) }.max() ?? 0) / noise
    }

    @Test(
        "durations, features, pitch and loudness are within 8 times the framework's own noise",
        arguments: ["text_encoder", "prosody"], ParityCase.Engine.allCases)
    func parity(part: String, engine: ParityCase.Engine) throws {
        let found = try outputs(part, by: engine)
        #expect(Set(found.keys) == (part == "prosody" ? ["f0", "n"] : ["durations", "d", "t_en"]))
        for (name, tensor) in found {
            let noise = try inNoise(name, tensor)
            #expect(noise <= 8, "\(name): \(noise)")
        }
    }

    @Test(
        "padding to a bucket changes nothing before it, and leaves zeros after it", arguments: [1, 6],
        ParityCase.Engine.allCases)
    func bucket(extra: Int, engine: ParityCase.Engine) throws {
        for (part, names) in [("text_encoder", ["d", "t_en", "durations"]), ("prosody", ["f0", "n"])] {
            let (exact, padded) = (try outputs(part, by: engine), try outputs(part, extra: extra, by: engine))
            for name in names {
                let (one, two) = (try #require(exact[name]), try #require(padded[name]))
                // Time is the last axis but for the rows of phonemes.
                let isLast = name != "d" && name != "durations"
                let (inner, size) = (isLast ? 1 : one.shape.dimensions[2], one.shape.count)
                let time = one.shape.dimensions[isLast ? one.shape.rank - 1 : 1] * inner
                let longer = two.shape.dimensions[isLast ? two.shape.rank - 1 : 1] * inner
                let largest = one.floats.map(abs).max() ?? 0
                for row in 0..<size / time {
                    let valid = two.floats[row * longer..<row * longer + time]
                    let expected = one.floats[row * time..<(row + 1) * time]
                    let differences = zip(valid, expected).map { abs($0 - $1) }
                    #expect(differences.allSatisfy { $0 <= 1e-5 * largest }, "\(name): \(differences)")
                    let rest = two.floats[row * longer + time..<(row + 1) * longer]
                    #expect(name == "durations" || rest.allSatisfy { $0 == 0 }, "\(name)")
                }
            }
        }
    }

    @Test("padding to a bucket does not change the features of the decoder", arguments: [1, 5])
    func decoderBucket(extra: Int) throws {
        let golden = try Self.subject.golden()
        func input(_ name: String, _ key: String) throws -> (String, HostTensor) {
            (name, HostTensor(try #require(golden[key])))
        }
        let inputs = Dictionary(
            uniqueKeysWithValues: try [
                input("asr", "in.asr"), input("f0", "out.f0"), input("n", "out.n"), input("ref_s", "in.ref_s"),
            ])
        let frames = try #require(inputs["asr"]).shape.dimensions[2]
        func features(_ part: String, _ inputs: [String: HostTensor], _ frames: Int) throws -> HostTensor {
            let program = try #require(try Self.subject.model(parts: [part]).programs.first)
            let frozen = try program.freezing(ShapeBindings(["batch": 1, "asr_frames": frames]))
            return try #require(try ParityCase.Engine.executor.outputs(of: frozen, inputs).first).tensor
        }
        let exact = try features("decoder_pre", inputs, frames)
        var longer = inputs.mapValues { tensor in
            guard let time = tensor.shape.dimensions.last, time % frames == 0 else { return tensor }
            let more = [Float](repeating: 5, count: time / frames * extra)
            var floats: [Float] = []
            for row in 0..<tensor.shape.count / time { floats += tensor.floats[row * time..<(row + 1) * time] + more }
            return HostTensor(floats, Shape(tensor.shape.dimensions.dropLast() + [time + more.count]))
        }
        longer["length"] = HostTensor([Int64(frames)], [1])
        // The first frame of the padding is seen by the convolutions that come before the first norm.
        for name in ["f0", "n"] {
            longer[name] = longer[name].map { tensor in
                HostTensor(tensor.floats.enumerated().map { $0 < 2 * frames ? $1 : 0 }, tensor.shape)
            }
        }
        let padded = try features("decoder_pre_bucket", longer, frames + extra)
        let (time, long) = (2 * frames, 2 * (frames + extra))
        let largest = exact.floats.map(abs).max() ?? 0
        for row in 0..<exact.shape.dimensions[1] {
            let pairs = zip(padded.floats[row * long..<row * long + time], exact.floats[row * time..<(row + 1) * time])
            #expect(pairs.allSatisfy { abs($0 - $1) <= 1e-5 * largest })
        }
    }

    @Test("every tensor is used but the pooler, whether modules have the name of a wrapper or not", arguments: [0, 1])
    func account(wrappers: Int) throws {
        var changed = try ChangedCheckpoint("phonemes_kokoro")
        changed.tensors = changed.tensors.map { tensor in
            guard wrappers == 1, let dot = tensor.name.firstIndex(of: ".") else { return tensor }
            let name = "\(tensor.name[..<dot]).module\(tensor.name[dot...])"
            return StoredTensor(name: name, elementType: tensor.elementType, shape: tensor.shape, bytes: tensor.bytes)
        }
        let model = try changed.withCheckpoint {
            try Families.matching($0.configuration).model(for: $0, parts: [FamilyModel.everyPart])
        }
        #expect(model.programs.count == 7)
        #expect(model.unused.map(\.name).allSatisfy { $0.contains("pooler.") } && model.unused.count == 2)
        #expect(model.unused.allSatisfy { $0.reason == "the text side reads no pooled output" })
    }

    /// A change of the program that parity has to notice.
    enum Mutation: CaseIterable {
        case forwards, exchangedStyle, otherSlope, otherGelu, segmentOne

        func apply(_ node: Program.Node, _ inputs: [Value], _ builder: inout ProgramBuilder) throws -> [Value]? {
            switch (self, node.operation) {
            case (.forwards, let lstm as LSTM) where lstm.reverses:
                return [try builder.apply(LSTM(), inputs)]
            case (.exchangedStyle, let slice as Slice) where node.label.contains("lstms.1"):
                let begin: [Dimension] = [0, slice.begin[1] == 0 ? 8 : 0]
                return [try builder.apply(Slice(begin: begin, sizes: slice.sizes), inputs)]
            case (.otherSlope, is LeakyRelu) where node.label.contains("cnn.1"):
                return [try builder.apply(LeakyRelu(slope: 0.1), inputs)]
            case (.otherGelu, is Gelu): return [try builder.apply(Gelu(.erf), inputs)]
            case (.segmentOne, let slice as Slice) where node.label == "bert.embeddings.slice":
                return [try builder.apply(Slice(begin: [1, 0], sizes: slice.sizes), inputs)]
            default: return nil
            }
        }
    }

    @Test("a mutated program fails", arguments: Mutation.allCases)
    func mutationsAreCaught(mutation: Mutation) throws {
        let found = try outputs("text_encoder", by: .reference) { try $0.rewriting(mutation.apply) }
        #expect(try found.contains { try inNoise($0.key, $0.value) > 40 })
    }
}
