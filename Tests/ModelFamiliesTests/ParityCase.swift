import ByteIO
import Foundation
import ModelFamilies
import Programs
import Tensors
import TestSupport
import Testing

/// A checkpoint with golden inputs and outputs of the original framework.
struct ParityCase: CustomTestStringConvertible, Sendable {
    let folder: String
    var testDescription: String { URL(filePath: folder).lastPathComponent }

    /// The bert cases that the tests carry, and those of the larger collection where there is one.
    static let bert: [ParityCase] = [Fixtures.path(""), Fixtures.sharedCases ?? ""].filter { !$0.isEmpty }.flatMap {
        root in
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return names.filter { $0.hasPrefix("bert_") }.sorted().map { ParityCase(folder: "\(root)/\($0)") }
    }

    struct Deviation {
        let output: String
        /// The largest absolute difference from the float64 reference, in units of the framework's own float32 error.
        let inNoise: Double
    }

    /// How far the model's outputs are from the golden ones.
    func deviations(
        of model: FamilyModel, changing change: (Program) throws -> Program = { $0 }
    ) throws -> [Deviation] {
        let golden = try SafetensorsFile("\(folder)/golden.safetensors")
        let noise = JSONField(try JSON.read("\(folder)/case.json"), file: "case.json")["fp32_noise"]
        return try model.programs.flatMap { program in
            let program = try change(program)
            let bindings = try ShapeBindings(fitting: golden.tensors, to: program, file: "golden.safetensors")
            let inputs = Dictionary(
                uniqueKeysWithValues: program.inputs.compactMap { input in
                    golden["in.\(input.name)"].map { (input.name, HostTensor($0)) }
                })
            return try program.freezing(bindings).evaluate(inputs).compactMap { name, tensor -> Deviation? in
                guard let reference = golden["ref64.\(name)"] else { return nil }
                guard reference.shape == tensor.shape else { return Deviation(output: name, inNoise: .infinity) }
                let differences = zip(tensor.floats, reference.doubles()).map { abs(Double($0) - $1) }
                let largest = differences.allSatisfy(\.isFinite) ? differences.max() ?? 0 : .infinity
                return Deviation(
                    output: name, inNoise: largest / (try noise[name]["max_abs_fp32_vs_64"].double()))
            }
        }
    }
}
