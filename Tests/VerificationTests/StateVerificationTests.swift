import AccelByteIO
import AccelConversion
import AccelFormats
import AccelPackages
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Verification of key/value caches of float16 and int8")
struct StateVerificationTests {
    private static func package(
        _ fixture: String, _ scheme: String = "float32", states: StateStorage = .float16, in folder: String
    ) throws -> AcceleratorPackage {
        var conversion = try Conversion(of: Fixtures.path(fixture), compressedBy: scheme)
        conversion.shapeFiles = [Fixtures.path("\(fixture)/golden.safetensors")]
        conversion.states = states
        return try conversion.convert(to: .folder("\(folder)/\(fixture)-\(states.rawValue).accelpkg")).package
    }

    private static func original(of package: AcceleratorPackage, _ fixture: String) throws -> OriginalModel {
        try OriginalModel(Checkpoint(model: Fixtures.path(fixture)), for: package, threads: 2)
    }

    @Test(
        "A decoder passes: kernels against rounded states, outputs against the model with float32 states",
        arguments: ["qwen3_small", "whisper_small", "gpt2_small"], [StateStorage.float16, .int8])
    func decoders(fixture: String, storage: StateStorage) throws {
        try withTemporaryFolder { folder in
            let package = try Self.package(fixture, states: storage, in: folder)
            let golden = try Golden(Fixtures.path("\(fixture)/golden.safetensors"))
            for inputs in [InputSource.golden(golden), .seeded(2)] {
                let report = try Parity(of: .package(package), against: .model(Self.original(of: package, fixture)))
                    .check(.init(stages: Set(Stage.allCases), inputs: inputs))
                #expect(report.exitStatus == .success, "\(report.terminal())")
                #expect(report.operators.filter { $0.kind == "update_slice" }.allSatisfy { $0.kernel.isExact })
                let outputs = report.outputs.filter { $0.stage == .outputs && $0.reference != .modelAgainstGolden }
                // They are not the bits of the stored weights: the states make the difference.
                #expect(outputs.contains { $0.metrics.sqnr < 90 })
                // They are held to what the reference loses by the same rounding.
                #expect(outputs.contains { $0.tolerance.origin.contains("the loss of the reference") })
                #expect(report.outputs.contains { $0.stage == .graph && $0.tolerance == .rounding(in: storage) })
            }
            // The encoder of a model has no states, and its limits stay.
            let encoder = try Parity(of: .package(package), against: .model(Self.original(of: package, fixture)))
                .check(.init(stages: [.graph, .outputs], inputs: .seeded(2)))
                .outputs.filter { $0.function.hasPrefix("encoder") }
            #expect(encoder.allSatisfy { $0.tolerance == .rounding } && encoder.isEmpty == (fixture != "whisper_small"))
        }
    }

    @Test("Structure has to be what the provenance says, in both directions, and the self test finds that")
    func structure() throws {
        try withTemporaryFolder { folder in
            let packages = try StateStorage.allCases.map {
                try Self.package("qwen3_small", "int4:block=16", states: $0, in: folder)
            }
            for package in packages {
                let original = try Self.original(of: package, "qwen3_small")
                func differences(_ contents: PackageContents) throws -> [String] {
                    try StructureStage(of: contents, programs: original.programs, original: original).run()
                        .differences.map { "\($0.name): \($0.reason)" }
                }
                let contents = try package.contents
                #expect(try differences(contents) == [])
                let forged = try #require(StructureFault.forgedStates.inject(contents))
                #expect(try differences(forged).contains { $0.contains("state") && $0.contains("F16") })
                let states = package.manifest.provenance.states
                let report = try SelfTest(of: .package(package), against: .model(original)).run()
                #expect(report.failures.isEmpty, "\(report.terminal(width: 140))")
                let caught = Set(report.trials.filter { $0.outcome == .caught }.map(\.fault))
                #expect(caught.contains(StructureFault.forgedStates.name))
                #expect(caught.contains(StructureFault.roundedStates.name) == (states == .float32))
                for fault in Faults.kernels {
                    #expect(caught.contains(fault.name) == (states == .int8), "\(fault.name)")
                }
            }
        }
    }

    @Test("The limits of rounded states apply to results that depend on them, beside those of weights")
    func tolerances() throws {
        #expect(Tolerance.scheme(ofOutputsReading: []) == .rounding)
        let states = Tolerance.scheme(ofOutputsReading: [], states: .float16)
        #expect(states.sqnr == SchemeTolerance.halfStates.output && states.origin == "the default for float16 states")
        let bytes = Tolerance.scheme(ofOutputsReading: [], states: .int8)
        #expect(bytes.sqnr == SchemeTolerance.byteStates.output && bytes.origin == "the default for int8 states")
    }
}
