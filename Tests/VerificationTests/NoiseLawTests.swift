import AccelByteIO
import AccelCPURuntime
import AccelConversion
import AccelFormats
import AccelPackages
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Limits from measured noise and loss")
struct NoiseLawTests {
    private static func package(_ fixture: String, _ scheme: String, in folder: String) throws -> AcceleratorPackage {
        var conversion = try Conversion(of: Fixtures.path(fixture), compressedBy: scheme)
        conversion.shapeFiles = [Fixtures.path("\(fixture)/golden.safetensors")]
        return try conversion.convert(to: .folder("\(folder)/\(fixture).accelpkg")).package
    }

    private static func report(
        _ package: AcceleratorPackage, _ fixture: String, _ stages: Set<Stage>, seed: UInt64 = 1
    ) throws -> ParityReport {
        let original = try OriginalModel(Checkpoint(model: Fixtures.path(fixture)), for: package, threads: 2)
        return try Parity(of: .package(package), against: .model(original))
            .check(.init(stages: stages, inputs: .seeded(seed), threads: 2))
    }

    @Test(
        "Operators whose results are exact give the bits of their reference; others are nearer than the noise's margin")
    func operatorNoise() throws {
        try withTemporaryFolder { folder in
            for fixture in ["qwen3_small", "bert_base", "whisper_small", "snac_plain"] {
                let package = try Self.package(fixture, "float32", in: folder)
                let findings = try Self.report(package, fixture, [.operators]).operators
                #expect(findings.allSatisfy { $0.failure == nil })
                for row in findings {
                    let kind = try #require(Operators.all.first { $0.name == row.kind })
                    if kind.rounding == .exact { #expect(row.kernel.isExact, "\(row.kind) \(row.label)") }
                }
                #expect(findings.contains { !$0.kernel.isExact })
            }
        }
    }

    @Test(
        "The noise of a framework's own float32 is within the margin of the noise that is measured",
        arguments: [
            "qwen3_small", "bert_base", "gpt2_small", "vit_tall",
        ])
    func frameworkNoise(fixture: String) throws {
        let golden = try Golden(Fixtures.path("\(fixture)/golden.safetensors"))
        try withTemporaryFolder { folder in
            let package = try Self.package(fixture, "float32", in: folder)
            let original = try OriginalModel(Checkpoint(model: Fixtures.path(fixture)), for: package, threads: 2)
            let report = try Parity(of: .package(package), against: .model(original))
                .check(.init(stages: [.outputs], inputs: .golden(golden), threads: 2))
            let rows = report.outputs.filter { $0.reference == .modelAgainstGolden }
            #expect(!rows.isEmpty && rows.allSatisfy { $0.failure == nil })
            let programs = try ReferenceModel(original.programs, for: package.graph.planned(), in: package)
            let plan = try package.graph.planned()
            let runner = PackageRunner(plan, threads: 2)
            for index in plan.functions.indices {
                let feed = try #require(try DrawnInputs(plan, programs.functions, seed: 1, runner).feed(for: index))
                let run = FunctionRun(
                    index: index, function: plan.functions[index], feed: feed, golden: nil,
                    frozen: programs.functions[index], runner: runner, stored: StoredWeights(plan.weights), lossy: [])
                let noise = try NoiseMeasurement(of: run, seed: 1).results
                let result = try RunComparison(run: run, stages: [.graph], budget: nil, seed: 1).result()
                #expect(!result.outputs.outputs.isEmpty)
                for row in result.outputs.outputs where row.metrics.squaredError > 0 {
                    let measured = try #require(noise[row.name])
                    // The package is another float32 arithmetic: it is no farther away than the limit says, and the noise is no excuse for
                    // anything else.
                    #expect(row.metrics.sqnr > measured.sqnr - 12, "\(row.name)")
                    #expect(measured.sqnr > 80, "\(row.name)")
                }
            }
        }
    }

    @Test("A limit is widened by noise, but not for results that differ by more than a quarter")
    func limits() {
        let limit = Tolerance.rounding
        #expect(limit.allowing(nil) == limit)
        #expect(limit.allowing(Metrics([1], against: [1])) == limit)
        let noise = Metrics([1.0001], against: [1])
        #expect(abs((limit.allowing(noise).sqnr ?? 0) - (noise.sqnr - 12.04)) < 0.01)
        #expect(limit.allowing(Metrics([3], against: [1])).sqnr == RoundingNoise.mostNoise)
        #expect(Tolerance.exact(origin: "").allowing(noise) == .exact(origin: ""))
        #expect(Tolerance(sqnr: 100, origin: "a budget").allowing(noise).sqnr == 100)
    }

    @Test("What samples may lose is added, as if they were one tensor")
    func joined() {
        func finding(_ value: Float, limit: Double) -> OutputFinding {
            OutputFinding(
                .graph, function: "f", name: "y", nil, against: .storedWeights, HostTensor([value] as [Float], [1]),
                HostTensor([1] as [Float], [1]), .arithmetic(.float32, sqnr: limit, origin: ""), at: .all)
        }
        let both = finding(1.01, limit: 30).joining(finding(1, limit: 100))
        #expect(both.failure == nil && abs((both.tolerance.sqnr ?? 0) - 33.01) < 0.01)
        #expect(finding(1.1, limit: 30).joining(finding(1, limit: 100)).failure != nil)
    }

    @Test("Lossy outputs pass whatever their scheme loses; those of wrong weights do not")
    func loss() throws {
        try withTemporaryFolder { folder in
            for scheme in ["palette:bits=1", "int8:axis=tensor", "float8"] {
                let package = try Self.package("bert_base", scheme, in: folder)
                for seed in 1...3 as ClosedRange<UInt64> {
                    let report = try Self.report(package, "bert_base", Set(Stage.allCases), seed: seed)
                    #expect(report.exitStatus == .success, "\(report.terminal())")
                }
                // The same package is not one of the model with other weights, whichever stage is asked for.
                let other = try OriginalModel(Checkpoint(model: Fixtures.path("bert_base")), for: package, threads: 2)
                var programs = other.programs
                for index in programs.indices { programs[index] = programs[index].negatingMatrices() }
                for stages in [[.weights], [.outputs]] as [Set<Stage>] {
                    let report = try Parity(of: .package(package), against: .reference(programs))
                        .check(.init(stages: stages, inputs: .seeded(1), threads: 2))
                    #expect(report.exitStatus == .exceeded, "\(scheme) \(stages)")
                }
            }
        }
    }

    @Test("Caches are those of a run, and the same seed draws the same")
    func caches() throws {
        try withTemporaryFolder { folder in
            let package = try Self.package("qwen3_small", "float32", in: folder)
            let original = try OriginalModel(Checkpoint(model: Fixtures.path("qwen3_small")), for: package, threads: 2)
            let plan = try package.graph.planned()
            let models = try ReferenceModel(original.programs, for: plan, in: package).functions
            let runner = PackageRunner(plan, threads: 2)
            for index in plan.functions.indices {
                let feed = try #require(try DrawnInputs(plan, models, seed: 3, runner).feed(for: index))
                let again = try #require(try DrawnInputs(plan, models, seed: 3, runner).feed(for: index))
                #expect(feed.inputs == again.inputs)
                for state in plan.functions[index].states {
                    #expect(try feed.state(state.name) == again.state(state.name))
                }
                let position = try #require(feed.inputs["position"]?.integers.first)
                for state in plan.functions[index].states(.keyValueCache) where position > 0 {
                    let tensor = try #require(try feed.state(state.name))
                    let width = tensor.shape.dimensions[3]
                    let rows = tensor.shape.dimensions[2]
                    let filled = (0..<rows).filter { row in
                        tensor.floats[row * width..<(row + 1) * width].contains { $0 != 0 }
                    }
                    #expect(filled.count >= Int(position) && filled.first == 0, "\(state.name)")
                }
            }
            #expect(plan.functions.count > 1)
        }
    }
}

extension Program {
    /// The model with the opposite of each matrix.
    fileprivate func negatingMatrices() -> Program {
        let changed = constants.filter(\.isWeight).compactMap(\.tensor).filter { $0.shape.rank == 2 }.map { tensor in
            (tensor.name, StoredTensor(name: tensor.name, floats: tensor.floats().map { -$0 }, shape: tensor.shape))
        }
        return replacing(Dictionary(changed) { first, _ in first })
    }
}
