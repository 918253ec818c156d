import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@testable import AccelVerification

@Suite("What the model gives has to be compared")
struct NotComparedTests {
    /// All stages but that of structure, which would notice first.
    private static let numbers = Set(Stage.allCases).subtracting([.structure])

    private func report(
        budget: Budget? = nil, _ change: (inout FunctionPlan) -> Void
    ) throws -> ParityReport {
        let model = try TinyModel()
        var program = try model.planned("float32")
        change(&program.functions[0])
        return try Parity(of: .planned(program), against: .reference([model.program]))
            .check(.init(stages: Self.numbers, budget: budget))
    }

    @Test("an output that the package does not give is a failure")
    func dropped() throws {
        let report = try report { $0.outputs.removeLast() }
        #expect(report.exitStatus == .exceeded)
        #expect(report.failures.contains { $0.stage == .outputs && $0.reason.contains("gives no such output") })
    }

    @Test("an output of another shape is a failure, and so is one that the model does not have")
    func reshaped() throws {
        let shaped = try report { function in
            function.outputs[0].operand.layout.shape.dimensions.append(1)
            function.outputs[0].operand.layout.strides.append(1)
        }
        #expect(shaped.failures.contains { $0.stage == .graph && $0.reason.contains("[2,8,32,1], expected [2,8,32]") })
        let more = try report { $0.outputs.append(.init(name: "more", operand: $0.outputs[0].operand)) }
        #expect(
            more.failures.contains { $0.name.hasSuffix("more") && $0.reason.contains("the model has no such output") })
    }

    @Test("a function with other inputs is not run, and that is a failure")
    func otherInputs() throws {
        let report = try report { $0.inputs[0].name = "ids" }
        #expect(report.exitStatus == .exceeded && report.outputs.isEmpty)
        #expect(report.failures.contains { $0.reason.contains("\"ids\" I64[2,8], expected \"input_ids\" I64[2,8]") })
    }

    @Test("a budget can name what nobody has to compare; a name that nothing has is a mistake")
    func allowed() throws {
        func budget(_ name: String) throws -> Budget {
            try Budget(JSONField(["allow": ["notCompared": [.string(name)]]], file: "budget.json"))
        }
        let report = try report(budget: budget("* logits")) { $0.outputs.removeLast() }
        #expect(report.exitStatus == .success, "\(report.terminal())")
        #expect(report.notCompared.contains { $0.isAllowed })
        let mistaken = try self.report(budget: budget("* logits")) { _ in }
        #expect(mistaken.exitStatus == .usage)
    }
}
