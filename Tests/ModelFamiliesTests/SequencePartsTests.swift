import Accel
import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@Suite("Outputs of a run by parts")
struct SequencePartsTests {
    /// The outputs of a run of all parts, and the rows on axis 1 that each part made of each name.
    private func run(_ architecture: String) throws -> (outputs: [StoredTensor], made: [String: [String: Int]]) {
        let model = try LawModel("whisper_small")
        guard case .object(let members) = model.root else { return ([], [:]) }
        let others = members.filter { $0.key != "architectures" }
        let root = JSON.object(others + [.init("architectures", .array([.string(architecture)]))])
        let programs = try model.family.model(for: model.checkpoint(root)).programs
        let golden = try ParityCase(folder: Fixtures.path("whisper_small")).golden()
        let blocks = try BlockModel(programs, ["batch": 1, "frames": 26], blocks: [4, 1], cache: 14)
        let plan = try RunPlan(blocks.program, FunctionInputs(golden.tensors, file: "golden"))
        let session = try Session(blocks.program)
        var made: [String: [String: Int]] = [:]
        let kept = RunOutputs(.memory)
        _ = try plan.run(into: kept) { step, carried, requested in
            let outputs = try session.run(step, carrying: carried, requesting: requested)
            let part = blocks.program.functions[step.function].part
            for output in outputs {
                let rows = step.rows?.count ?? output.shape.dimensions[1]
                made[output.name, default: [:]][part, default: 0] +=
                    step.positions == nil ? output.shape.dimensions[1] : rows
            }
            return outputs
        }
        return (try kept.tensors(), made)
    }

    @Test(
        "no output joins values of two parts", arguments: ["WhisperModel", "WhisperForConditionalGeneration"])
    func apart(architecture: String) throws {
        let (outputs, made) = try run(architecture)
        #expect(outputs.count == made.values.reduce(0) { $0 + $1.count })
        for (name, parts) in made {
            for (part, rows) in parts {
                let title = parts.count > 1 ? "\(part).\(name)" : name
                let output = outputs.first { $0.name == title }
                #expect(output?.shape.dimensions[1] == rows, "\(title)")
            }
        }
        // The control: one name is that of two parts, and without their names its rows would be 13 and 12.
        let isShared = made["last_hidden_state"].map { $0.count > 1 } ?? false
        #expect(isShared == (architecture == "WhisperModel"))
        let titles = Set(outputs.map(\.name).filter { $0.hasSuffix("last_hidden_state") })
        #expect(
            titles == (isShared ? ["encoder.last_hidden_state", "decoder.last_hidden_state"] : ["last_hidden_state"]))
    }
}
