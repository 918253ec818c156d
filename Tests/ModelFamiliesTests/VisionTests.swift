import AccelModelFamilies
import AccelPrograms
import TestSupport
import Testing

@Suite("Encoders of images, and CLIP, against the original framework")
struct VisionTests {
    static let cases = ParityCase.all(["vit_", "siglip_", "clip"])

    private func model(_ subject: ParityCase) throws -> FamilyModel {
        try subject.model(parts: try Families.matching(try subject.configuration()).parts)
    }

    @Test(
        "every golden output is within 4 times the framework's own noise", arguments: cases, ParityCase.Engine.allCases)
    func parity(subject: ParityCase, engine: ParityCase.Engine) throws {
        try subject.expectParity(of: try model(subject), by: engine)
    }

    @Test("every tensor is used or listed as unused with a reason", arguments: cases)
    func accounting(subject: ParityCase) throws {
        let model = try model(subject)
        try subject.expectAccount(of: model)
        #expect(model.unused.isEmpty)
    }

    @Test("a mutated program fails", arguments: cases, EncoderMutation.allCases)
    func mutationsAreCaught(subject: ParityCase, mutation: EncoderMutation) throws {
        let deviations = try subject.deviations(of: try model(subject)) { try $0.rewriting(mutation.apply) }
        #expect(deviations.contains { $0.inNoise > 40 })
    }
}

/// A change of an encoder's program that parity has to notice.
enum EncoderMutation: CaseIterable {
    case otherGelu, droppedBias, swappedQueryAndKey, otherEpsilon

    func apply(_ node: Program.Node, _ inputs: [Value], _ builder: inout ProgramBuilder) throws -> [Value]? {
        switch self {
        case .otherGelu:
            guard let gelu = node.operation as? Gelu else { return nil }
            return [try builder.apply(gelu.kind == .tanh ? Gelu(.erf) : Gelu(.tanh), inputs)]
        case .droppedBias where node.operation is Linear && node.label.contains(".1.") && inputs.count == 3:
            return [try builder.apply(node.operation, [inputs[0], inputs[1]])]
        case .swappedQueryAndKey where node.operation is Attention:
            guard builder.type(of: inputs[0]) == builder.type(of: inputs[1]) else { return nil }
            return [try builder.apply(node.operation, [inputs[1], inputs[0]] + inputs[2...])]
        case .otherEpsilon where node.operation is LayerNorm:
            return [try builder.apply(LayerNorm(epsilon: 1e-3), inputs)]
        default: return nil
        }
    }
}
