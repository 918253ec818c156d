import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelFormats

@Suite("Compressed weights in Core ML packages")
struct WeightFormTests {
    /// A product with a weight whose rows are of different sizes.
    private func function(rows: Int, columns: Int) throws -> FrozenProgram {
        var builder = ProgramBuilder(name: "model")
        let x = builder.input("x", TensorType(.float32, [2, .fixed(columns)]))
        var state: UInt32 = 7
        let numbers = (0..<rows * columns).map { index -> Float in
            state = state &* 1_664_525 &+ 1_013_904_223
            return (Float(state >> 8) / Float(1 << 24) - 0.5) * Float(index / columns % 5 + 1)
        }
        let weight = builder.constant(
            StoredTensor(name: "w", floats: numbers, shape: [rows, columns]), isWeight: true)
        builder.output("y", try builder.apply(Linear(), [x, weight]))
        return try builder.finish().freezing(ShapeBindings())
    }

    private func exporter(_ target: CoreMLTarget, allowsFallback: Bool = false) -> CoreMLExporter {
        CoreMLExporter(
            CoreMLOptions(target: target, floatType: .float32, layout: .plain, allowsFallback: allowsFallback))
    }

    /// Codec, and the operation that it becomes for iOS 16 and for iOS 18; nil: rejected.
    static let forms: [(codec: String, old: String?, new: String?)] = [
        ("float16", "const", "const"),
        ("int8", "constexpr_affine_dequantize", "constexpr_blockwise_shift_scale"),
        ("int8:axis=channel,mode=asymmetric", "constexpr_affine_dequantize", "constexpr_blockwise_shift_scale"),
        ("int4:block=16", nil, "constexpr_blockwise_shift_scale"),
        ("affine:bits=3,block=16", nil, "constexpr_blockwise_shift_scale"),
        ("affine:bits=4,block=16", nil, "constexpr_blockwise_shift_scale"),
        ("affine:bits=6,block=16", nil, "constexpr_blockwise_shift_scale"),
        ("nf4:block=16", nil, "constexpr_lut_to_dense"),
        ("fp4:block=16", nil, "constexpr_lut_to_dense"),
        ("hqq:bits=4,group=18", nil, "constexpr_blockwise_shift_scale"),
        ("hqq:bits=4,group=18,axis=0", nil, nil),
        ("permuted+int4:block=16", nil, nil),
        ("flat:row=20+int8", nil, nil),
        ("palette:bits=4", "constexpr_lut_to_dense", "constexpr_lut_to_dense"),
        ("palette:bits=3", nil, "constexpr_lut_to_dense"),
        ("palette:bits=4,entries=int8", "constexpr_lut_to_dense", "constexpr_lut_to_dense"),
        ("palette:bits=2,group=5,entries=int8", nil, "constexpr_lut_to_dense"),
        ("palette:bits=4,group=4,scale=channel", nil, "constexpr_lut_to_dense"),
        ("vector:bits=4,size=2", nil, "constexpr_lut_to_dense"),
        ("vector:bits=4,size=2,group=4", nil, "constexpr_lut_to_dense"),
        ("sparse:target=0.5+float16", "constexpr_sparse_to_dense", "constexpr_sparse_to_dense"),
        ("sparse:target=0.7+palette:bits=3", nil, "constexpr_sparse_to_dense"),
        ("sparse:pattern=2:4+palette:bits=2,entries=int8", nil, "constexpr_sparse_to_dense"),
        ("sparse:threshold=0.4+int8:axis=tensor", nil, "constexpr_sparse_to_dense"),
        ("sparse:target=0.5+int8:axis=channel", nil, nil),
        ("sparse:target=0.5+palette:bits=2,group=2", nil, nil),
        ("outliers:share=0.01+int4", nil, nil),
    ]

    @Test("A form is read back as the codec decodes it, or rejected before anything is compressed", arguments: forms)
    func form(codec: String, old: String?, new: String?) throws {
        let function = try function(rows: 10, columns: 36)
        let recipe = Recipe(default: try Codecs.codec(codec))
        let program = try recipe.compressing([function], threads: 1)
        let model = ExportedModel(program: program, family: "sample", provenance: [])
        for (target, expected) in [(CoreMLTarget.iOS16, old), (.iOS18, new), (.iOS26, new)] {
            try withTemporaryFolder { folder in
                let path = "\(folder)/x.mlpackage"
                guard let expected else {
                    let rejection = try #require(throws: RequestError.self) {
                        _ = try exporter(target).check(PlannedExport([function], recipe.plan(for: [function])))
                    }
                    #expect(rejection.description.hasPrefix("weight \"w\" as "))
                    #expect(rejection.diagnostic.candidates.last == ExportOption.allowFallback.name)
                    #expect(throws: RequestError.self) { try exporter(target).export(model, to: path) }
                    let lenient = exporter(target, allowsFallback: true)
                    let gaps = try lenient.check(PlannedExport([function], recipe.plan(for: [function])))
                    #expect(gaps.keys.sorted() == ["w"])
                    let report = try lenient.export(model, to: path)
                    #expect(report.warnings.count == 1)
                    return
                }
                #expect(try exporter(target).check(PlannedExport([function], recipe.plan(for: [function]))).isEmpty)
                let report = try exporter(target).export(model, to: path)
                #expect(report.lines.contains("weights: 1 \(expected)"))
                let package = try CoreMLPackage(at: path)
                let weight = try #require(try package.weights.first { $0.name == "w" })
                let found = try package.tensor(of: weight).floats()
                let stored = program.weights[0].tensor.floats()
                let largest = stored.map(abs).max() ?? 0
                // A bias and a zero that is no integer round apart.
                let noise = codec.hasPrefix("affine") || codec.hasPrefix("hqq") ? largest * 0x1p-20 : 0
                #expect(zip(found, stored).allSatisfy { abs($0 - $1) <= noise })
                #expect(abs(weight.bitsPerWeight - report.bitsPerWeight) < 0.02)
            }
        }
    }

    @Test("A scale for each output channel beside tables of 16 costs next to nothing")
    func scalePerChannel() throws {
        let function = try function(rows: 64, columns: 1024)
        let program = try Recipe(default: Codecs.codec("palette:bits=4,group=16,scale=channel"))
            .compressing([function], threads: 1)
        try withTemporaryFolder { folder in
            let exporter = CoreMLExporter(
                CoreMLOptions(target: .iOS18, floatType: .float16, layout: .plain, allowsFallback: false))
            let report = try exporter.export(
                ExportedModel(program: program, family: "sample", provenance: []), to: "\(folder)/x.mlpackage")
            #expect(report.bitsPerWeight <= 4.1)
        }
    }

    @Test("A block of one value, whose step is 0, is that value")
    func constantBlocks() throws {
        var builder = ProgramBuilder(name: "model")
        let x = builder.input("x", TensorType(.float32, [2, 32]))
        let numbers = (0..<64).map { Float($0 / 16) - 1 }
        let weight = builder.constant(StoredTensor(name: "w", floats: numbers, shape: [2, 32]), isWeight: true)
        builder.output("y", try builder.apply(Linear(), [x, weight]))
        let function = try builder.finish().freezing(ShapeBindings())
        let program = try Recipe(default: Codecs.codec("affine:bits=4,block=16")).compressing([function], threads: 1)
        try withTemporaryFolder { folder in
            let path = "\(folder)/x.mlpackage"
            _ = try exporter(.iOS18).export(ExportedModel(program: program, family: "x", provenance: []), to: path)
            let package = try CoreMLPackage(at: path)
            let weight = try #require(try package.weights.first)
            let found = try package.tensor(of: weight).floats()
            #expect(zip(found, program.weights[0].tensor.floats()).allSatisfy { abs($0 - $1) <= 1e-6 })
        }
    }

    @Test("Blocks that end within an axis are cut there", arguments: [16, 32, 64])
    func cutBlocks(block: Int) throws {
        var builder = ProgramBuilder(name: "model")
        let x = builder.input("x", TensorType(.float32, [2, 8, 24]))
        let numbers = (0..<384).map { (index: Int) -> Float in Float(index * 29 % 83 - 41) / 9 }
        let weight = builder.constant(StoredTensor(name: "w", floats: numbers, shape: [2, 8, 24]), isWeight: true)
        builder.output("y", try builder.apply(Add(), [x, weight]))
        let function = try builder.finish().freezing(ShapeBindings())
        let program = try Recipe(default: Codecs.codec("int4:block=\(block)")).compressing([function], threads: 1)
        try withTemporaryFolder { folder in
            let path = "\(folder)/x.mlpackage"
            _ = try exporter(.iOS18).export(ExportedModel(program: program, family: "x", provenance: []), to: path)
            let package = try CoreMLPackage(at: path)
            let weight = try #require(try package.weights.first)
            #expect(try package.tensor(of: weight).floats() == program.weights[0].tensor.floats())
        }
    }
}
