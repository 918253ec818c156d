import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelFormats
@testable import AccelVerification

/// A small export: two weights, a state, two outputs.
enum CoreMLSample {
    /// - Parameters:
    ///   - readsState: false for a model that adds zero times its state.
    ///   - factor: of the matrix.
    static func program(readsState: Bool = true, factor: Float = 1) throws -> Program {
        var builder = ProgramBuilder(name: "model")
        let numbers: [Float] = (0..<192).map { (index: Int) -> Float in Float(index * 37 % 101 - 50) / 40 * factor }
        let weight = builder.constant(
            StoredTensor(name: "layer.weight", floats: numbers, shape: [16, 12]), isWeight: true)
        let gains: [Float] = (0..<16).map { (index: Int) -> Float in 1 + Float(index) / 8 }
        let gain = builder.constant(
            StoredTensor(name: "norm.weight", floats: gains, shape: [16]), isWeight: true)
        let x = builder.input("x", TensorType(.float32, [2, 12]))
        let memory = builder.state("memory", TensorType(.float32, [2, 16]))
        let read = readsState ? memory : try builder.apply(Multiply(), [memory, builder.literal(0)])
        let y = try builder.apply(Add(), [try builder.apply(Linear(), [x, weight]), read])
        builder.update("memory", to: y)
        builder.output("y", try builder.apply(RMSNorm(epsilon: 1e-5), [y, gain]))
        builder.output("positive", try builder.apply(Relu(), [y]))
        return try builder.finish()
    }

    /// An export as the tool makes it, with all that it writes into the metadata.
    static func exported(_ program: Program, _ codec: String) throws -> (model: CoreMLModel, weights: [UInt8]) {
        let recipe = Recipe(default: try Codecs.codec(codec))
        let functions = [try program.freezing(ShapeBindings())]
        let draft = try CoreMLExporter(
            CoreMLOptions(target: .iOS18, floatType: .float16, layout: .plain, allowsFallback: false)
        ).draft(
            of: ExportedModel(
                program: try recipe.compressing(functions, threads: 1), family: "sample",
                provenance: [("accelc.recipe", recipe.json.text()), ("accelc.shapes", "model")]))
        return try withTemporaryFolder { folder in
            try draft.weights.blobs.write(to: "\(folder)/weight.bin")
            return (draft.model, try MappedFile("\(folder)/weight.bin").bytes.withBytes { Array($0) })
        }
    }

    /// The package with digests of what it holds now.
    static func resealed(_ model: CoreMLModel, _ weights: [UInt8]) throws -> CoreMLPackage {
        let entries = try BlobReader(ByteView(weights), file: "weight.bin").checkedEntries()
        var model = model
        model.seal(entries.map { ($0.offset, SHA256.digest(of: $0.entry.bytes)) })
        let package = try CoreMLPackage(
            model: ByteView(model.encoded), weights: ByteView(weights), path: "x.mlpackage")
        #expect(try package.check())
        return package
    }

    /// The package as another tool would have written it: nothing says how it was made.
    static func unsealed(_ model: CoreMLModel, _ weights: [UInt8]) throws -> CoreMLPackage {
        var model = model
        model.metadata.other.removeAll { $0.name.hasPrefix("accelc.") }
        return try CoreMLPackage(model: ByteView(model.encoded), weights: ByteView(weights), path: "x.mlpackage")
    }

    static func report(
        _ package: CoreMLPackage, _ program: Program, _ options: Parity.Options = Parity.Options()
    ) throws -> ParityReport {
        try Parity(of: .coreML(package), against: .reference([program])).check(options)
    }
}
