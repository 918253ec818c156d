import AccelByteIO
import AccelFormats
import Foundation
import TestSupport
import Testing

/// The folder that `export --contract fluidaudio` writes, against the names, shapes and types in FluidAudio's VadManager.swift.
@Suite("The contract of FluidAudio")
struct FluidAudioContractTests {
    private static let name = "Models/silero-vad/silero-vad-unified-256ms-v6.2.1.mlpackage"
    private static let words = ["--format", "coreml", "--contract", "fluidaudio", "--no-cache"]
    private static let folder = SharedFolder { folder in
        try EnergyDetector.write(to: "\(folder)/vad")
        try CommandRunner.succeed(["export", "vad"] + words + ["-q", "-o", "kit"], in: folder)
    }

    @Test("The package has one function with the features that VadManager binds, all float32 with fixed shapes")
    func features() throws {
        let model = try CoreMLPackage(at: "\(Self.folder.path)/kit/\(Self.name)").model
        let interface = try #require(model.interfaces.first)
        #expect(model.interfaces.count == 1 && interface.function == "main" && interface.states.isEmpty)
        let inputs = ["audio_input": [1, 4160], "hidden_state": [1, 128], "cell_state": [1, 128]]
        let outputs = ["vad_output": [1, 1, 1], "new_hidden_state": [1, 128], "new_cell_state": [1, 128]]
        for (features, expected) in [(interface.inputs, inputs), (interface.outputs, outputs)] {
            #expect(Dictionary(uniqueKeysWithValues: features.map { ($0.name, $0.type.sizes ?? []) }) == expected)
            for feature in features {
                #expect(feature.type.dataType == .float32, "\(feature.name)")
                #expect(feature.enumeratedShapes.isEmpty && feature.shapeRanges.isEmpty, "\(feature.name)")
            }
        }
        let function = try #require(model.program.functions.first)
        #expect(function.inputs.map(\.content.tensor) == interface.inputs.map(\.type))
    }

    @Test("The folder replaces itself, and a run prints the command that compiles the model where VadManager looks")
    func command() throws {
        try Self.folder.withCopy { folder in
            let before = try CommandRunner.contents(of: "\(folder)/kit")
            let result = try CommandRunner.run(["export", "vad"] + Self.words + ["-o", "kit"], in: folder)
            #expect(result.status == 0, "\(result.errors)")
            #expect(try CommandRunner.contents(of: "\(folder)/kit") == before)
            #expect(
                result.output.contains(
                    "\n  xcrun coremlcompiler compile kit/\(Self.name) kit/Models/silero-vad\n"), "\(result.output)")
            #expect(result.output.contains("other files: contract.json\n"), "\(result.output)")
        }
    }

    @Test("The package is the model's by every stage of verify, on random inputs")
    func verified() throws {
        try Self.folder.withCopy { folder in
            let result = try CommandRunner.run(["verify", "kit/\(Self.name)", "--against", "vad"], in: folder)
            #expect(result.status == 0, "\(result.output)\(result.errors)")
        }
    }

    @Test("Models of other families are rejected, and the error says that FluidAudio's others are not built")
    func otherModels() throws {
        try withTemporaryFolder { folder in
            let model = Fixtures.path("kokoro_small")
            let result = try CommandRunner.run(["export", model] + Self.words + ["-o", "kit"], in: folder)
            #expect(result.status == 2)
            for word in ["silero_vad", "kokoro", "FluidAudio's other models"] {
                #expect(result.errors.contains(word), "\(result.errors)")
            }
        }
    }
}
