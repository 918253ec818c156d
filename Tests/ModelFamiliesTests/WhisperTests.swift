import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@Suite("Whisper against the original framework")
struct WhisperTests {
    static let cases = ParityCase.all(["whisper_"])

    @Test(
        "encoder, cross keys and values, full forward, prefill, steps and caches are within 4 times the framework's noise",
        arguments: cases, DecoderCase.Way.allCases)
    func parity(subject: ParityCase, way: DecoderCase.Way) throws {
        let outputs = try EncoderDecoderRun.outputs(of: try subject.model().programs, subject, by: way)
        #expect(Set(outputs.keys) == Set(try subject.facts()["outputs"].members().map(\.key)))
        for deviation in try DecoderCase(files: subject).deviations(of: outputs) {
            #expect(deviation.inNoise <= 4, "\(deviation)")
        }
    }

    @Test("every tensor is used or listed as unused with a reason, for all parts and for one", arguments: cases)
    func accounting(subject: ParityCase) throws {
        #expect(try subject.model().unused.isEmpty)
        for part in ["encoder", "cross_kv", "decoder", "aligner"] {
            let model = try subject.model(parts: [part])
            try subject.expectAccount(of: model)
            #expect(model.unused.allSatisfy { $0.reason.hasPrefix("read by the part") })
        }
    }

    /// A change of the programs that parity has to notice.
    enum Mutation: CaseIterable {
        case otherGelu, droppedBias, swappedQueryAndKey, unmasked

        func apply(_ node: Program.Node, _ inputs: [Value], _ builder: inout ProgramBuilder) throws -> [Value]? {
            switch self {
            case .otherGelu where node.operation is Gelu: [try builder.apply(Gelu(.tanh), inputs)]
            case .droppedBias where node.label.hasPrefix("decoder.layers.0.encoder_attn.v_proj.linear"):
                [try builder.apply(node.operation, Array(inputs[..<2]))]
            case .swappedQueryAndKey where node.label.hasPrefix("encoder.layers.0.self_attn.attention"):
                [try builder.apply(node.operation, [inputs[1], inputs[0], inputs[2]])]
            case .unmasked where node.operation is Attention && inputs.count == 4:
                [try builder.apply(node.operation, Array(inputs[..<3]))]
            default: nil
            }
        }
    }

    @Test("a mutated program fails", arguments: Mutation.allCases)
    func mutationsAreCaught(mutation: Mutation) throws {
        let subject = try #require(Self.cases.first)
        let programs = try subject.model().programs.map { try $0.rewriting(mutation.apply) }
        let outputs = try EncoderDecoderRun.outputs(of: programs, subject, by: .executor)
        #expect(try DecoderCase(files: subject).deviations(of: outputs).contains { $0.inNoise > 40 })
    }

    @Test("a window of another length is rejected with what is expected and what was given")
    func window() throws {
        let subject = try #require(Self.cases.first)
        let encoder = try #require(try subject.model(parts: ["encoder"]).programs.first)
        let features = try #require(try subject.golden()["in.input_features"])
        let (mels, frames) = (features.shape.dimensions[1], features.shape.dimensions[2])
        #expect(throws: RequestError.self) {
            try encoder.freezing(ShapeBindings(["batch": 1, "frames": frames + 1]))
        }
        let frozen = try encoder.freezing(ShapeBindings(["batch": 1, "frames": frames]))
        let executor = try Executor(try CompressedProgram(functions: [frozen], weights: []).planned())
        let wrong = HostTensor([Float](repeating: 0, count: mels * (frames + 20)), [1, mels, frames + 20])
        let rejection = #expect(throws: RequestError.self) {
            try executor.run(["input_features": wrong.stored(name: "input_features")])
        }
        let message = rejection.map { "\($0)" } ?? ""
        #expect(
            message.contains("[1,\(mels),\(frames)]") && message.contains("[1,\(mels),\(frames + 20)]"), "\(message)")
    }

    @Test("a shorter window is the encoder with the first of its positions")
    func shorterWindow() throws {
        var shorter = try ChangedCheckpoint("whisper_small")
        let whole = try shorter.model()
        shorter.set("max_source_positions", 8)
        shorter.tensors = shorter.tensors.map { tensor in
            guard tensor.name == "model.encoder.embed_positions.weight" else { return tensor }
            let width = tensor.shape.dimensions[1]
            return StoredTensor(name: tensor.name, floats: Array(tensor.floats()[..<(8 * width)]), shape: [8, width])
        }
        let outputs = try [whole, try shorter.model()].map { model in
            let features = HostTensor((0..<160).map { Float($0 % 7) - 3 }, [1, 10, 16])
            return try #require(model.programs.first).freezing(ShapeBindings(["batch": 1, "frames": 16]))
                .evaluate(["input_features": features])[0].tensor
        }
        #expect(outputs[0].shape.dimensions[1] == 8)
        #expect(outputs[0] == outputs[1])
    }
}
