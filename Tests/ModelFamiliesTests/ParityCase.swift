import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

/// A checkpoint with golden inputs and outputs of the original framework.
struct ParityCase: CustomTestStringConvertible, Sendable {
    let folder: String
    var testDescription: String { URL(filePath: folder).lastPathComponent }

    /// The bert cases that the tests carry, and those of the larger collection where there is one.
    static let bert = all(["bert_"])

    static func all(_ prefixes: [String]) -> [ParityCase] {
        [Fixtures.path(""), Fixtures.sharedCases ?? ""].filter { !$0.isEmpty }.flatMap { root in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
            return names.filter { name in prefixes.contains { name.hasPrefix($0) } }.sorted()
                .map { ParityCase(folder: "\(root)/\($0)") }
        }
    }

    func golden() throws -> SafetensorsFile { try SafetensorsFile("\(folder)/golden.safetensors") }

    func facts() throws -> JSONField { JSONField(try JSON.read("\(folder)/case.json"), file: "case.json") }

    /// The model, all of its parts that `parts` names (empty: the default ones).
    func model(parts: [String] = [], file: String? = nil) throws -> FamilyModel {
        let checkpoint = try Checkpoint(model: file.map { "\(folder)/\($0)" } ?? folder)
        return try Families.matching(checkpoint.configuration).model(for: checkpoint, parts: parts)
    }

    /// What computes a program.
    enum Engine: CaseIterable {
        case reference, executor

        func outputs(
            of frozen: FrozenProgram, _ inputs: [String: HostTensor]
        ) throws -> [(name: String, tensor: HostTensor)] {
            switch self {
            case .reference: return try frozen.evaluate(inputs)
            case .executor:
                let planned = try CompressedProgram(functions: [frozen], weights: []).planned()
                let stored = inputs.reduce(into: [:]) { $0[$1.key] = $1.value.stored(name: $1.key) }
                return try Executor(planned).run(stored).map { ($0.name, HostTensor($0)) }
            }
        }
    }

    /// Every golden output is within 4 times the framework's own noise.
    func expectParity(of model: FamilyModel, by engine: Engine = .reference) throws {
        let deviations = try deviations(of: model, by: engine)
        #expect(Set(deviations.map(\.output)) == Set(try facts()["outputs"].members().map(\.key)))
        for deviation in deviations { #expect(deviation.inNoise <= 4, "\(deviation)") }
    }

    /// Every tensor of the checkpoint is used or listed as unused, with a reason.
    func expectAccount(of model: FamilyModel, file: String? = nil) throws {
        let checkpoint = try Checkpoint(model: file.map { "\(folder)/\($0)" } ?? folder)
        #expect(model.used.isDisjoint(with: model.unused.map(\.name)))
        #expect(model.used.union(model.unused.map(\.name)) == Set(checkpoint.tensors.map(\.name)))
        #expect(model.unused.allSatisfy { !$0.reason.isEmpty })
        let known = Set(checkpoint.tensors.map(\.name))
        for constant in model.programs.flatMap(\.constants)
        where constant.isWeight && known.contains(constant.name) {
            #expect(model.used.contains(constant.name))
        }
    }

    /// What a program makes of the golden inputs, frozen to fit them.
    func outputs(of program: Program, by engine: Engine = .reference) throws -> [(name: String, tensor: HostTensor)] {
        let golden = try golden()
        let bindings = try ShapeBindings(fitting: golden.tensors, to: program, file: "golden.safetensors")
        let inputs = program.inputs.compactMap { input in
            golden["in.\(input.name)"].map { (input.name, HostTensor($0)) }
        }
        let frozen = try program.freezing(bindings)
        return try engine.outputs(of: frozen, Dictionary(uniqueKeysWithValues: inputs))
    }

    struct Deviation {
        let output: String
        /// The largest absolute difference from the float64 reference, in units of the framework's own float32 error.
        let inNoise: Double
    }

    /// How far the model's outputs are from the golden ones.
    func deviations(
        of model: FamilyModel, by engine: Engine = .reference, changing change: (Program) throws -> Program = { $0 }
    ) throws -> [Deviation] {
        let golden = try golden()
        let noise = try facts()["fp32_noise"]
        return try model.programs.flatMap { program in
            try outputs(of: try change(program), by: engine).compactMap { name, tensor -> Deviation? in
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
