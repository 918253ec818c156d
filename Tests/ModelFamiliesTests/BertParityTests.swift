import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@Suite("BERT against the original framework")
struct BertParityTests {
    @Test("every golden output is within 4 times the framework's own noise", arguments: ParityCase.bert)
    func parity(subject: ParityCase) throws {
        let checkpoint = try Checkpoint(model: subject.folder)
        let model = try Families.matching(checkpoint.configuration).model(for: checkpoint)
        let deviations = try subject.deviations(of: model)
        let facts = JSONField(try JSON.read("\(subject.folder)/case.json"), file: "case.json")
        #expect(Set(deviations.map(\.output)) == Set(try facts["outputs"].members().map(\.key)))
        for deviation in deviations { #expect(deviation.inNoise <= 4, "\(deviation)") }
    }

    @Test("the tests carry the cases that they rely on")
    func fixturesAreThere() { #expect(ParityCase.bert.count >= 16) }

    @Test("every tensor is used or listed as unused with a reason", arguments: ParityCase.bert)
    func accounting(subject: ParityCase) throws {
        let checkpoint = try Checkpoint(model: subject.folder)
        let model = try Families.matching(checkpoint.configuration).model(for: checkpoint)
        let used = Set(model.programs.flatMap { $0.constants.filter(\.isWeight).map(\.name) })
        #expect(used.isDisjoint(with: model.unused.map(\.name)))
        #expect(used.union(model.unused.map(\.name)) == Set(checkpoint.tensors.map(\.name)))
        #expect(model.unused.allSatisfy { !$0.reason.isEmpty })
        let facts = JSONField(try JSON.read("\(subject.folder)/case.json"), file: "case.json")
        guard facts["unused"].exists else { return }
        // The framework's class has these, but its forward reads the decoder's bias only.
        let passedOver: Set = ["bert.embeddings.position_ids", "cls.predictions.bias"]
        let expected = Set(try facts["unused"].array().map { try $0.string() })
        #expect(Set(model.unused.map(\.name)).subtracting(passedOver) == expected)
    }

    /// A change of the program that parity has to notice.
    enum Mutation: CaseIterable {
        case otherGelu, droppedBias, swappedQueryAndKey, otherEpsilon, unmasked

        func apply(_ node: Program.Node, _ inputs: [Value], _ builder: inout ProgramBuilder) throws -> [Value]? {
            switch self {
            case .otherGelu where node.operation is Gelu:
                return [try builder.apply(Gelu(.tanh), inputs)]
            case .droppedBias where node.label.hasPrefix("encoder.layer.0.output.dense"):
                return [try builder.apply(node.operation, [inputs[0], inputs[1]])]
            case .swappedQueryAndKey where node.operation is Attention:
                return [try builder.apply(node.operation, [inputs[1], inputs[0], inputs[2], inputs[3]])]
            case .otherEpsilon where node.operation is LayerNorm:
                return [try builder.apply(LayerNorm(epsilon: 1e-3), inputs)]
            case .unmasked where node.operation is Attention:
                return [try builder.apply(node.operation, Array(inputs[..<3]))]
            default: return nil
            }
        }
    }

    @Test("a mutated program fails", arguments: Mutation.allCases)
    func mutationsAreCaught(mutation: Mutation) throws {
        let subject = ParityCase(folder: Fixtures.path("bert_base"))
        let checkpoint = try Checkpoint(model: subject.folder)
        let model = try Families.matching(checkpoint.configuration).model(for: checkpoint)
        let deviations = try subject.deviations(of: model) { try $0.rewriting(mutation.apply) }
        #expect(deviations.contains { $0.inNoise > 40 })
    }
}
