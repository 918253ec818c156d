import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@Suite("Moonshine against the original framework")
struct MoonshineTests {
    static let cases = ParityCase.all(["moonshine_"])
    private static let small = ParityCase(folder: Fixtures.path("moonshine_small"))

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

    @Test(
        "samples behind the sound change nothing, and their states and keys are 0", arguments: cases,
        DecoderCase.Way.allCases)
    func padding(subject: ParityCase, way: DecoderCase.Way) throws {
        let outputs = try EncoderDecoderRun.outputs(
            of: try subject.model().programs, subject, by: way, padding: 1900)
        let isWhole: (String) -> Bool = { $0 != "encoder_hidden" && !$0.hasPrefix("cross_") }
        for deviation in try DecoderCase(files: subject).deviations(of: outputs.filter { isWhole($0.key) }) {
            #expect(deviation.inNoise <= 4, "\(deviation)")
        }
        let golden = try subject.golden()
        let states = try #require(golden["out.encoder_hidden"]).shape.dimensions[1]
        let hidden = try #require(outputs["encoder_hidden"])
        #expect(hidden.shape.dimensions[1] >= states + 4)
        for (name, axis) in [("encoder_hidden", 1), ("cross_k.0", 2)] {
            let tensor = try #require(outputs[name])
            let width = tensor.shape.dimensions[(axis + 1)...].reduce(1, *)
            let count = tensor.shape.dimensions[axis]
            for (index, value) in tensor.floats.enumerated() where index / width % count >= states {
                #expect(value == 0, "\(name)")
            }
        }
    }

    @Test("a sound that is too short for a state counts as long enough for one")
    func shortest() throws {
        let encoder = try #require(try Self.small.model(parts: ["encoder"]).programs.first)
        let frozen = try encoder.freezing(ShapeBindings(["batch": 2, "samples": 1300]))
        let samples = (0..<1300).map { Float($0 % 13 - 6) / 8 }
        let hidden = try frozen.evaluate([
            "input_values": HostTensor(samples + samples, [2, 1300]), "length": HostTensor([Int64(1), 895], [2]),
        ])[0].tensor
        let half = hidden.floats.count / 2
        #expect(hidden.floats[..<half].allSatisfy(\.isFinite) && hidden.floats[..<half] == hidden.floats[half...])
    }

    @Test("every tensor is used or listed as unused with a reason, for all parts and for one", arguments: cases)
    func accounting(subject: ParityCase) throws {
        #expect(try subject.model().unused.isEmpty)
        for part in ["encoder", "cross_kv", "decoder"] {
            let model = try subject.model(parts: [part])
            try subject.expectAccount(of: model)
            #expect(model.unused.allSatisfy { $0.reason.hasPrefix("read by the part") })
        }
    }

    /// A change of the programs that parity has to notice.
    enum Mutation: CaseIterable {
        case otherGelu, unpaired, idleGate, unmasked, meanOfAll

        func apply(_ node: Program.Node, _ inputs: [Value], _ builder: inout ProgramBuilder) throws -> [Value]? {
            switch self {
            case .otherGelu where node.label.hasPrefix("encoder.conv3") && node.operation is Gelu:
                [try builder.apply(Gelu(.tanh), inputs)]
            // Heads in the order of the checkpoint.
            case .unpaired where node.operation is Transpose && builder.type(of: inputs[0]).rank == 5:
                [try builder.apply(Reshape(to: Self.swapped(builder.type(of: inputs[0]).dimensions)), inputs)]
            case .idleGate where node.label.hasPrefix("decoder.layers.0.mlp") && node.operation is Silu:
                [inputs[0]]
            case .unmasked where node.operation is Attention && inputs.count == 4:
                [try builder.apply(node.operation, Array(inputs[..<3]))]
            case .meanOfAll
            where node.label.hasPrefix("encoder.groupnorm") && node.operation is Select
                && builder.type(of: inputs[1]).rank == 3:
                [inputs[1]]
            default: nil
            }
        }

        /// Swaps the last two sizes.
        private static func swapped(_ sizes: [Dimension]) -> [Dimension] {
            sizes.dropLast(2) + sizes.suffix(2).reversed()
        }
    }

    @Test("a mutated program fails", arguments: Mutation.allCases)
    func mutationsAreCaught(mutation: Mutation) throws {
        let programs = try Self.small.model().programs.map { try $0.rewriting(mutation.apply) }
        let outputs = try EncoderDecoderRun.outputs(of: programs, Self.small, by: .executor, padding: 1900)
        let logits = outputs.filter { $0.key.hasSuffix("logits") || $0.key == "logits_full" }
        #expect(try DecoderCase(files: Self.small).deviations(of: logits).contains { $0.inNoise > 40 })
    }

    @Test(
        "numbers of heads that transformers would not use are rejected, and so are other rotations",
        arguments: [
            ("decoder_num_attention_heads", 1, "expected 2, the number of encoder_num_attention_heads, found 1"),
            ("encoder_num_key_value_heads", 1, "expected 2, the number of encoder_num_attention_heads, found 1"),
            ("decoder_num_key_value_heads", 1, "expected 2, the number of encoder_num_attention_heads, found 1"),
            ("encoder_num_attention_heads", 3, "3 heads do not divide hidden_size 14"),
            ("head_dim", 8, "expected 7, the share of a head in hidden_size"),
            (
                "rope_parameters", ["rope_type": "linear", "factor": 2, "rope_theta": 10000],
                "rotary embeddings of type \"linear\" are not supported (supported: default)"
            ),
            (
                "rope_parameters", ["rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": 1],
                "of heads of 7 is not an even width to rotate"
            ),
        ] as [(String, JSON, String)])
    func rejected(field: String, value: JSON, reason: String) throws {
        var changed = try ChangedCheckpoint("moonshine_small")
        changed.set(field, value)
        #expect(changed.rejection()?.contains(reason) == true, "\(changed.rejection() ?? "")")
    }

    @Test("the bare model returns hidden states, and padded heads are the same model")
    func variants() throws {
        var bare = try ChangedCheckpoint("moonshine_small")
        bare.set("architectures", ["MoonshineModel"])
        #expect(try bare.model().programs.last?.outputs.map(\.name) == ["last_hidden_state"])
        var padded = try ChangedCheckpoint("moonshine_small")
        let whole = try padded.model().programs.map { "\($0)" }
        padded.set("pad_head_dim_to_multiple_of", nil)
        #expect(try padded.model().programs.map { "\($0)" } == whole)
    }
}
