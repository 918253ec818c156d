import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import Testing

@testable import AccelFormats
@testable import AccelVerification

/// Of packages that nothing says the origin of: what the model gives has to be compared by numbers, or is a failure.
@Suite("What is not compared of a Core ML package")
struct CoreMLGapTests {
    private func report(
        _ program: Program? = nil, budget: Budget? = nil, _ change: (inout CoreMLModel) -> Void = { _ in }
    ) throws -> ParityReport {
        let original = try CoreMLSample.program()
        var (model, weights) = try CoreMLSample.exported(original, "float16")
        change(&model)
        return try CoreMLSample.report(
            try CoreMLSample.unsealed(model, weights), program ?? original, .init(budget: budget))
    }

    private static func drop(_ output: String, of model: inout CoreMLModel) {
        model.interfaces[0].outputs.removeAll { $0.name == output }
        model.program.functions[0].outputs.removeAll { $0 == output }
    }

    @Test("a package as it was written passes")
    func intact() throws {
        let report = try report()
        #expect(report.exitStatus == .success && report.notCompared == [], "\(report.terminal())")
    }

    @Test("an output that the package does not give, or the model does not, is a failure that names it")
    func outputs() throws {
        let dropped = try report { Self.drop("positive", of: &$0) }
        #expect(dropped.exitStatus == .exceeded)
        #expect(
            dropped.failures.contains { $0.name == "main positive" && $0.reason.contains("no such output") },
            "\(dropped.terminal())")
        var fewer = ProgramBuilder(name: "model")
        let program = try CoreMLSample.program()
        let values = try program.constants.map { fewer.constant(try $0.requireTensor(), isWeight: true) }
        let x = fewer.input("x", TensorType(.float32, [2, 12]))
        let memory = fewer.state("memory", TensorType(.float32, [2, 16]))
        let y = try fewer.apply(Add(), [try fewer.apply(Linear(), [x, values[0]]), memory])
        fewer.update("memory", to: y)
        fewer.output("y", try fewer.apply(RMSNorm(epsilon: 1e-5), [y, values[1]]))
        let surplus = try report(try fewer.finish())
        #expect(surplus.exitStatus == .exceeded)
        #expect(surplus.failures.contains { $0.name == "main positive" && $0.reason.contains("the model has no such") })
    }

    @Test("a function that no part of the model takes the inputs of is a failure")
    func functions() throws {
        var other = ProgramBuilder(name: "other")
        let x = other.input("signal", TensorType(.float32, [2, 12]))
        other.output("y", try other.apply(Relu(), [x]))
        let report = try report(try other.finish())
        #expect(report.exitStatus == .exceeded)
        #expect(report.failures.contains { $0.reason.contains("no part of the model has its inputs") })
    }

    @Test("a weight of another shape than the model's is a failure that names it, with both shapes")
    func shapes() throws {
        var builder = ProgramBuilder(name: "model")
        let program = try CoreMLSample.program()
        let numbers = program.constants.first { $0.name == "layer.weight" }?.tensor?.floats() ?? []
        let weight = builder.constant(
            StoredTensor(name: "layer.weight", floats: Array(numbers.prefix(144)), shape: [12, 12]), isWeight: true)
        let x = builder.input("x", TensorType(.float32, [2, 12]))
        builder.output("y", try builder.apply(Linear(), [x, weight]))
        let report = try report(try builder.finish())
        let found = report.failures.filter { $0.name == "layer_weight" || $0.name == "layer_weight_to_fp16" }
        #expect(
            found.contains {
                $0.reason.contains("the package has it as [16,12], but \"layer.weight\" of the model is [12,12]")
            }, "\(report.terminal())")
    }

    @Test(
        "a row whose scale is zero is lost, whatever its codes are: of packages without digests too",
        arguments: [
            "int8", "int4:block=channel", "nf4:block=channel,fit=absmax", "palette:bits=4,group=16,scale=channel",
            "float8",
        ])
    func lostRow(codec: String) throws {
        let program = try CoreMLSample.program()
        let (model, written) = try CoreMLSample.exported(program, codec)
        var weights = written
        let intact = try CoreMLSample.report(try CoreMLSample.unsealed(model, weights), program)
        #expect(intact.exitStatus == .success, "\(intact.terminal())")
        // The 16 scales in float16. Tables of 16 begin below zero, and the norm's gains are float32.
        let entries = try BlobReader(ByteView(weights), file: "weight.bin").checkedEntries().map(\.entry)
        let scales = try #require(
            entries.first { entry in
                entry.dataType == .float16 && entry.elements == 16
                    && entry.bytes.withBytes { $0.loadUnaligned(as: Float16.self) } > 0
            })
        let start = try #require(
            weights.indices.first { place in
                scales.bytes.withBytes {
                    place + $0.count <= weights.count && weights[place..<place + $0.count].elementsEqual($0)
                }
            })
        for byte in start + 6..<start + 8 { weights[byte] = 0 }
        let report = try CoreMLSample.report(try CoreMLSample.unsealed(model, weights), program)
        #expect(report.weights.contains { $0.name == "layer.weight" && $0.failure != nil }, "\(report.terminal())")
        #expect(report.exitStatus == .exceeded)
    }

    @Test("a matrix with its axes exchanged is compared, and used so, also with an axis of 1")
    func transposed() throws {
        let original = try CoreMLSample.program()
        let (model, weights) = try CoreMLSample.exported(original, "float16")
        let package = try CoreMLSample.unsealed(model, weights)
        let tensor = try #require(original.constants.first { $0.name == "layer.weight" }?.tensor)
        let floats = tensor.floats()
        let turned = (0..<192).map { floats[$0 % 16 * 12 + $0 / 16] }
        let source = StoredTensor(name: "layer.weight", floats: turned, shape: [12, 16, 1])
        let result = try CoreMLWeightStage(package: package, sources: [source], budget: nil, threads: 1)
            .run(package.weights) { _ in }
        let stored = try #require(result.stored["layer.weight"])
        #expect(stored.shape == [12, 16, 1])
        #expect(zip(stored.floats(), turned).allSatisfy { abs($0 - $1) < 1e-3 })
    }

    @Test("a budget can name what nobody has to compare; a name that nothing has is a mistake")
    func allowed() throws {
        func budget(_ name: String) throws -> Budget {
            try Budget(JSONField(["allow": ["notCompared": [.string(name)]]], file: "budget.json"))
        }
        let report = try report(budget: budget("main positive")) { Self.drop("positive", of: &$0) }
        #expect(report.exitStatus == .success && report.notCompared.contains { $0.isAllowed }, "\(report.terminal())")
        #expect(try self.report(budget: budget("main positive")).exitStatus == .usage)
    }

    @Test("digests of the model's files are compared, and the file that differs is named")
    func sources() throws {
        let original = try CoreMLSample.program()
        var (model, weights) = try CoreMLSample.exported(original, "float16")
        func source(_ name: String, _ content: String) -> Provenance.Source {
            Provenance.Source(name: name, byteCount: 1, digest: SHA256.digest(of: content))
        }
        let files = [source("config.json", "a"), source("model.safetensors", "b")]
        func differences(_ files: [Provenance.Source]) throws -> [StructureFinding.Difference] {
            var finding = StructureFinding()
            finding.compareSources(of: try CoreMLSample.resealed(model, weights), with: files)
            return finding.differences
        }
        #expect(try differences(files).map(\.name) == ["accelc.source.config.json", "accelc.source.model.safetensors"])
        model.metadata.other += files.map { MILNamed("accelc.source.\($0.name)", $0.digest.description) }
        #expect(try differences(files) == [])
        let other = try differences([files[0], source("model.safetensors", "c")])
        #expect(other.map(\.name) == ["accelc.source.model.safetensors"] && other[0].reason.contains("was "))
        #expect(try differences([files[0]]).map(\.reason) == ["is no file of the model"])
        model.metadata.other.removeAll { $0.name.hasPrefix("accelc.") }
        var unknown = StructureFinding()
        unknown.compareSources(of: try CoreMLSample.unsealed(model, weights), with: files)
        #expect(unknown.differences == [])
    }

    @Test("differences from an export made again are in every form of the report")
    func reports() throws {
        let original = try CoreMLSample.program()
        var (model, weights) = try CoreMLSample.exported(original, "float16")
        model.interfaces[0].outputs.swapAt(0, 1)
        let report = try CoreMLSample.report(try CoreMLSample.resealed(model, weights), original)
        let difference = try #require(report.structure?.differences.first)
        #expect(difference.name == "main" && difference.reason.hasPrefix("outputs are described as"))
        for text in [report.terminal(), report.json.text(), report.html] {
            #expect(text.contains("outputs are described as"))
        }
        let bare = try CoreMLSample.report(try CoreMLSample.unsealed(model, weights), original)
        for text in [bare.terminal(), bare.json.text(), bare.html] { #expect(text.contains("carries no digests")) }
    }
}
