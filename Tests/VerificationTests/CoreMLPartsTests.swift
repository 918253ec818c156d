import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelFormats
@testable import AccelVerification

@Suite("Tensors that a Core ML package has in parts")
struct CoreMLPartsTests {
    private static let words = 50

    /// A table of words, which is also the head, for an engine whose axes are of 16 at most.
    private func program() throws -> Program {
        var builder = ProgramBuilder(name: "decoder")
        let width = 16
        let numbers = (0..<Self.words * width).map { Float(($0 * 37) % 101 - 50) / 40 }
        let tensor = StoredTensor(name: "all.words", floats: numbers, shape: [Self.words, width])
        let table = builder.constant(tensor, isWeight: true)
        let gains = StoredTensor(name: "gain", floats: [Float](repeating: 1.5, count: width), shape: [width])
        let gain = builder.constant(gains, isWeight: true)
        let ids = builder.input("ids", TensorType(.int64, [1, 6]))
        let x = try builder.apply(Gather(), [table, ids])
        let normal = try builder.apply(RMSNorm(epsilon: 1e-3), [x, gain])
        builder.output("logits", try builder.apply(Linear(), [normal, table]))
        return try builder.finish()
    }

    private func exported(_ program: Program, _ codec: String) throws -> (model: CoreMLModel, weights: [UInt8]) {
        let function = try program.freezing(ShapeBindings())
        let recipe = Recipe(default: try Codecs.codec(codec))
        let model = ExportedModel(
            program: try recipe.compressing([function], threads: 1), family: "sample", provenance: [])
        let exporter = CoreMLExporter(
            CoreMLOptions(
                target: .iOS18, floatType: .float16, layout: .ane, allowsFallback: false, longestAxis: 16))
        return try withTemporaryFolder { folder in
            _ = try exporter.export(model, to: "\(folder)/x.mlpackage")
            let bytes = try MappedFile("\(folder)/x.mlpackage/Data/com.apple.CoreML/weights/weight.bin").bytes
            let package = try CoreMLPackage(at: "\(folder)/x.mlpackage")
            #expect(try package.check())
            // As accelc wrote them before it wrote digests: each of the other proofs has to find the damage on its own.
            var model = package.model
            model.metadata.other.removeAll { $0.name.hasPrefix("accelc.sha256.") || $0.name == "accelc.exporter" }
            return (model, bytes.withBytes { Array($0) })
        }
    }

    private func report(_ model: CoreMLModel, _ weights: [UInt8], _ program: Program) throws -> ParityReport {
        let package = try CoreMLPackage(
            model: ByteView(model.encoded), weights: ByteView(weights), path: "x.mlpackage")
        return try Parity(of: .coreML(package), against: .reference([program])).check()
    }

    @Test(
        "They are compared as one tensor, all of it",
        arguments: ["float16", "palette:bits=4,group=4", "int8:axis=channel", "int4:block=16"])
    func joined(codec: String) throws {
        let program = try program()
        let (model, weights) = try exported(program, codec)
        let report = try report(model, weights, program)
        #expect(report.weights.map(\.name) == ["gain", "all.words"])
        let finding = try #require(report.weights.last)
        #expect(finding.failure == nil && finding.shape == [Self.words, 16])
        // As a table and as a head.
        #expect(finding.metrics.count == 2 * finding.shape.count)
        #expect(report.notCompared.filter { $0.stage == .weights }.isEmpty)
        #expect(!report.outputs.isEmpty && report.outputs.allSatisfy { $0.failure == nil })
    }

    @Test("A part that is corrupt, or that nothing says of where it belongs, fails the tensor and is named")
    func control() throws {
        let program = try program()
        let (model, weights) = try exported(program, "float16")
        let part = try #require(
            model.program.functions[0].operations.first { $0.outputs.first?.name == "all_words_13" })
        guard case .blob(let offset)? = part["val"]?.content else {
            Issue.record("\(part) is no blob")
            return
        }
        var corrupt = weights
        for index in stride(from: offset + 65, to: offset + 64 + 13 * 16 * 2, by: 2) { corrupt[index] ^= 0x80 }
        let damaged = try report(model, corrupt, program)
        #expect(damaged.weights.count == 2)
        #expect(damaged.weights[1].failure?.hasPrefix("rows 13 to 25: SQNR -6.0 dB < 30.0 dB") ?? false)

        var untold = model
        untold.metadata.other.removeAll { $0.name == CoreMLModel.rowsKey(of: "all_words_26", in: "main") }
        untold.metadata.other.removeAll { $0.name == CoreMLModel.rowsKey(of: "all_words_26_2", in: "main") }
        let incomplete = try report(untold, weights, program)
        #expect(incomplete.weights.last?.failure == "rows 26 to 38 are in no weight of the package")
        #expect(
            incomplete.notCompared.filter { $0.stage == .weights }.map(\.name) == ["all_words_26", "all_words_26_2"])

        var wrong = model
        for index in wrong.metadata.other.indices where wrong.metadata.other[index].content == "26 39 all.words" {
            wrong.metadata.other[index].content = "13 26 all.words"
        }
        let misplaced = try report(wrong, weights, program)
        #expect(misplaced.weights.last?.failure == "rows 26 to 38 are in no weight of the package")

        for text in ["", "1", "1 2", "2 2 w", "-1 2 w", "a 2 w", "3 2 w"] { #expect(TensorRows(text) == nil) }
        #expect(TensorRows("0 9223372036854775807 a b")?.tensor == "a b")
    }
}
