import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@Suite("wav2vec 2.0 and HuBERT against the original framework")
struct Wav2Vec2Tests {
    static let cases = ParityCase.all(["wav2vec2", "hubert"])

    @Test("every golden output is within 4 times the framework's own noise", arguments: cases)
    func parity(subject: ParityCase) throws {
        try subject.expectParity(of: try subject.model())
    }

    @Test("every tensor is used or listed as unused with a reason", arguments: cases)
    func accounting(subject: ParityCase) throws {
        let model = try subject.model()
        try subject.expectAccount(of: model)
        let reasons = ["hides parts of the audio in training", "the sum of all layers does not read it"]
        #expect(model.unused.allSatisfy { reasons.contains($0.reason) })
    }

    @Test(
        "A classifier of audio that takes another mean, or weighs its layers otherwise, is noticed",
        arguments: ["wav2vec2_labels", "wav2vec2_sum", "hubert_labels"])
    func labels(fixture: String) throws {
        let subject = ParityCase(folder: Fixtures.path(fixture))
        let model = try subject.model()
        #expect(model.programs[0].interface.role == .classify)
        #expect(model.programs[0].interface.outputs == ["logits": .logits(over: .labels)])
        let deviations = try subject.deviations(of: model) { program in
            try program.rewriting { node, inputs, builder in
                switch node.operation {
                case let mean as Reduce where mean.kind == .mean && fixture == "wav2vec2_labels":
                    return [try builder.apply(Reduce(.max, axes: [1], keepsAxes: false), inputs)]
                case is Softmax:
                    return [try builder.apply(Multiply(), [inputs[0], inputs[0]])]
                default: return nil
                }
            }
        }
        #expect(deviations.contains { $0.inNoise > 40 })
    }

    /// A change of the program that parity has to notice.
    enum Mutation: CaseIterable {
        case otherGelu, droppedBias, swappedQueryAndKey, otherEpsilon, ungrouped, laterPositions

        func apply(_ node: Program.Node, _ inputs: [Value], _ builder: inout ProgramBuilder) throws -> [Value]? {
            switch (self, node.operation) {
            case (.otherGelu, is Gelu):
                return [try builder.apply(Gelu(.erf), inputs)]
            case (.droppedBias, is Conv) where node.label.contains("conv_layers.1"):
                return [try builder.apply(node.operation, Array(inputs[..<2]))]
            case (.swappedQueryAndKey, is Attention):
                return [try builder.apply(node.operation, [inputs[1], inputs[0], inputs[2]])]
            case (.otherEpsilon, let norm as GroupNorm):
                return [try builder.apply(GroupNorm(groups: norm.groups, epsilon: 1e-3), inputs)]
            case (.ungrouped, let norm as GroupNorm):
                return [try builder.apply(GroupNorm(groups: 1, epsilon: norm.epsilon), inputs)]
            case (.laterPositions, var conv as Conv) where node.label.contains("pos_conv_embed"):
                (conv.window.before, conv.window.after) = ([conv.window.before[0] - 1], [conv.window.after[0] + 1])
                return [try builder.apply(conv, inputs)]
            default: return nil
            }
        }
    }

    @Test("a mutated program fails", arguments: Mutation.allCases)
    func mutationsAreCaught(mutation: Mutation) throws {
        let subject = ParityCase(folder: Fixtures.path("wav2vec2_odd"))
        let deviations = try subject.deviations(of: try subject.model()) { try $0.rewriting(mutation.apply) }
        #expect(deviations.contains { $0.inNoise > 40 })
    }

    @Test("a mutated program of the large kind fails", arguments: EncoderMutation.allCases)
    func largeMutationsAreCaught(mutation: EncoderMutation) throws {
        let subject = ParityCase(folder: Fixtures.path("hubert_stable"))
        let deviations = try subject.deviations(of: try subject.model()) { try $0.rewriting(mutation.apply) }
        #expect(deviations.contains { $0.inNoise > 40 })
    }

    @Test("what is not built is rejected by its name")
    func rejections() throws {
        for (field, value) in [("add_adapter", JSON.bool(true)), ("adapter_attn_dim", .integer(16))] {
            var checkpoint = try ChangedCheckpoint("wav2vec2_odd")
            checkpoint.set(field, value)
            #expect(checkpoint.rejection()?.contains("field \(field)") == true)
        }
    }
}
