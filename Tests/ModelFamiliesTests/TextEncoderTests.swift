import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import TestSupport
import Testing

@Suite("DistilBERT, RoBERTa, XLM-R, MPNet and ModernBERT against the original framework")
struct TextEncoderTests {
    static let cases = ParityCase.all([
        "distilbert_", "roberta_", "camembert_", "xlmr_", "mpnet_", "modernbert_",
    ])

    @Test(
        "every golden output is within 4 times the framework's own noise", arguments: cases, ParityCase.Engine.allCases)
    func parity(subject: ParityCase, engine: ParityCase.Engine) throws {
        try subject.expectParity(of: try subject.model(), by: engine)
    }

    @Test("the tests carry the cases that they rely on")
    func fixturesAreThere() { #expect(Self.cases.count >= 11) }

    @Test("every tensor is used or listed as unused with a reason", arguments: cases)
    func accounting(subject: ParityCase) throws {
        let model = try subject.model()
        try subject.expectAccount(of: model)
        #expect(model.unused.isEmpty)
    }

    @Test("a mutated program fails", arguments: cases, EncoderMutation.allCases)
    func mutationsAreCaught(subject: ParityCase, mutation: EncoderMutation) throws {
        // One case alone of these has biases in its layers; the published models have none.
        let name = subject.testDescription
        if mutation == .droppedBias, name.hasPrefix("modernbert_"), name != "modernbert_seqcls" { return }
        let deviations = try subject.deviations(of: try subject.model()) { try $0.rewriting(mutation.apply) }
        #expect(deviations.contains { $0.inNoise > 40 })
    }

    @Test(
        "Multiple choice takes groups of texts, and gives a score for each",
        arguments: ["bert_choice", "distilbert_choice", "camembert_choice", "mpnet_choice", "modernbert_choice"])
    func choices(fixture: String) throws {
        let program = try #require(try ParityCase(folder: Fixtures.path(fixture)).model().programs.first)
        #expect(program.interface.role == .classify)
        for input in program.inputs {
            #expect(program.type(of: input.value).dimensions == ["batch", "choices", "sequence"])
        }
        #expect(program.outputs.map { program.type(of: $0.value).dimensions } == [["batch", "choices"]])
        #expect(program.interface.outputs == ["logits": .logits(over: .choices)])
    }

    @Test("positions that are counted over padding too are noticed")
    func positions() throws {
        let subject = ParityCase(folder: Fixtures.path("roberta_model"))
        let deviations = try subject.deviations(of: try subject.model()) { program in
            try program.rewriting { node, inputs, builder in
                guard node.operation is CumulativeSum else { return nil }
                let ones = try builder.apply(
                    Add(), [try builder.apply(Multiply(), [inputs[0], builder.literal(0)]), builder.literal(1)])
                return [try builder.apply(node.operation, [ones])]
            }
        }
        #expect(deviations.contains { $0.inNoise > 40 })
    }

    @Test("a window that is left out is noticed")
    func window() throws {
        let subject = ParityCase(folder: Fixtures.path("modernbert_model"))
        let deviations = try subject.deviations(of: try subject.model()) { program in
            try program.rewriting { node, inputs, builder in
                guard node.operation is Compare else { return nil }
                return [try builder.apply(Compare(.equal), [inputs[0], inputs[0]])]
            }
        }
        #expect(deviations.contains { $0.inNoise > 40 })
    }

    @Test(
        "other bases of ModernBERT's rotary positions are noticed", arguments: ["full_attention", "sliding_attention"])
    func rotation(layers: String) throws {
        var changed = try ChangedCheckpoint("modernbert_model")
        let bases = ["full_attention": 160_000, "sliding_attention": 10_000].merging([layers: 40_000]) { $1 }
        changed.set(
            "rope_parameters",
            .object(
                bases.sorted { $0.key < $1.key }.map { kind, base in
                    JSON.Member(kind, ["rope_type": "default", "rope_theta": .integer(Int64(base))])
                }))
        let subject = ParityCase(folder: Fixtures.path("modernbert_model"))
        #expect(try subject.deviations(of: try changed.model()).contains { $0.inNoise > 40 })
    }

    @Test("the longest sequence leaves room for the padding's position")
    func longest() throws {
        let program = try #require(try ParityCase(folder: Fixtures.path("roberta_model")).model().programs.first)
        #expect(program.dimensions.first { $0.name == "sequence" }?.maximum == 22)
    }
}
