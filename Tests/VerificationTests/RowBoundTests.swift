import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelPackages
@testable import AccelVerification

@Suite("Rows of weights that cannot be compared byte for byte")
struct RowBoundTests {
    private static let name = "layer.0.up.weight"

    private static let calibrated = [
        "int4:method=gptq", "int4:method=weighted", "int8:method=gptq", "int8:method=weighted",
        "affine:bits=4,method=gptq", "affine:bits=3,block=64,method=weighted", "nf4:method=gptq", "mxfp4:method=gptq",
        "palette:bits=4,group=16,method=gptq", "palette:bits=3,method=weighted", "palette:bits=1,method=gptq",
    ]

    /// A right weight passes, and the report says how it was held; one whose rows are zero, whatever their scales, does not.
    @Test("rows of a calibrated weight cannot be lost", arguments: calibrated)
    func lost(codec: String) throws {
        let model = try TinyModel()
        let program = try model.planned(codec)
        let report = try Self.report(program, model)
        #expect(report.exitStatus == .success, "\(report.terminal())")
        let words = try #require(report.rowBounds.first)
        #expect(words.hasPrefix("codes depend on calibration data: ") && words.contains("held to 32 times"))
        #expect(report.terminal().contains(words) && report.html.contains(words) && report.json.text().contains(words))
        let bound = try #require(report.weights.first { $0.name == Self.name }?.bound)
        #expect(bound.row > 0 && bound.row < RowBound.rowFactor / 2 && bound.tensor < RowBound.tensorFactor / 2)
        for rows in [3..<4, 3..<11] where codec.hasPrefix("int") {
            let lost = try Self.report(try Self.losing(rows, of: program), model)
            let failure = try #require(lost.failures.first { $0.stage == .weights })
            #expect(failure.name == Self.name, "\(failure)")
            // So many lost rows are beyond the limit on the SQNR of 8 bits as well, which comes first.
            if rows.count == 1 { #expect(failure.reason.hasPrefix("row 3: "), "\(failure)") }
        }
    }

    @Test(
        "codes of another version of a codec are held to the bound where they are others", arguments: ["int8", "int4"])
    func version(codec: String) throws {
        let model = try TinyModel()
        let program = try model.planned(codec)
        func finding(_ program: ModelPlan) throws -> WeightFinding? {
            var stage = WeightStage(
                program: program, model: try ReferenceModel([model.program], for: program), budget: nil, threads: 1)
            stage.otherCodecs = Set(Codecs.numericsVersions.keys)
            return try stage.run().weights.first { $0.name == Self.name }
        }
        let same = try #require(try finding(program))
        #expect(same.failure == nil && same.bound == nil)
        let lost = try #require(try finding(try Self.losing(3..<4, of: program)))
        #expect(lost.failure?.hasPrefix("row 3: ") == true && lost.bound?.reason == .version, "\(lost)")
        // Codes that another method chooses are others, and near enough.
        var other = try model.planned("\(codec):method=gptq").weights
        let index = try #require(other.firstIndex { $0.name == Self.name })
        other[index] = try CompressedTensor(
            name: Self.name, elementType: other[index].elementType, shape: other[index].shape,
            codec: try Codecs.codec(codec), sections: other[index].sections)
        let bound = try RowBound(
            of: try #require(model.weights.first { $0.name == Self.name }), as: other[index].codec, threads: 1)
        let source = try #require(model.weights.first { $0.name == Self.name }).floats()
        let sums = bound.sums(0..<64, stored: other[index].floats(), source: source)
        #expect(bound.verdict([sums], because: .version).failureReason == nil)
    }

    @Test(
        "codes of another search have the gain of the scheme's own, whichever search it was",
        arguments: [("q8_0", 1.002), ("q5_1", 1.02), ("q4_0", 1.05), ("q4_k", 1.05)] as [(String, Float)])
    func gain(codec: String, factor: Float) throws {
        let shape: Shape = [64, 256]
        let floats = (0..<shape.count).map { (index: Int) -> Float in
            (Float(index &* 7919 % 2003) / 2003 + Float(index &* 104_729 % 1009) / 1009 - 1) / 4
        }
        let source = StoredTensor(name: "w", floats: floats, shape: shape)
        func failure(_ codec: String, factor: Float, because reason: RowBound.Reason = .search) throws -> String? {
            let scaled = StoredTensor(name: "w", floats: floats.map { $0 * factor }, shape: shape)
            let stored = try CompressedTensor.compressing(scaled, with: Codecs.codec(codec), threads: 1).tensor
            let bound = try RowBound(of: source, as: stored.codec, threads: 1)
            return bound.verdict(
                [bound.sums(0..<64, stored: stored.floats(), source: floats)], because: reason
            ).failureReason
        }
        #expect(try failure(codec, factor: 1) == nil)
        #expect(try failure("\(codec):fit=mse", factor: 1) == nil)
        #expect(try failure(codec, factor: factor)?.contains("gain") == true)
        #expect(try failure(codec, factor: 2 - factor)?.contains("gain") == true)
        // The errors alone are within the limits.
        #expect(try failure(codec, factor: factor, because: .version) == nil)
    }

    @Test("channels may be scaled for the checkpoint's sake only")
    func scaled() throws {
        let honest = try Self.scaledReport { $0 < 2 ? 2 : 0 }
        #expect(honest.failures.isEmpty, "\(honest.terminal())")
        #expect(honest.rowBounds.map { $0.prefix(39) } == ["channels are scaled by calibration data"])
        // Columns that other columns of their blocks outgrow are all zero.
        for lost in [2..<24, 2..<8, 5..<6] {
            let report = try Self.scaledReport { lost.contains($0) ? -20 : 0 }
            #expect(report.failures.contains { $0.stage == .weights && $0.name.contains("gate_proj") }, "\(lost)")
        }
    }

    @Test("columns are held too, where there are rows enough to tell")
    func columns() throws {
        var generator = SeededGenerator(seed: 5)
        let floats = (0..<64 * 48).map { _ in Float.random(in: -1...1, using: &generator) }
        let source = StoredTensor(name: "w", floats: floats, shape: [64, 48])
        let bound = try RowBound(of: source, as: try Codecs.codec("int4"), threads: 1)
        var stored = bound.plain.floats()
        func failureReason() -> String? {
            bound.verdict([bound.sums(0..<64, stored: stored, source: floats)], because: .scaling).failureReason
        }
        #expect(failureReason() == nil)
        for row in 0..<64 { stored[row * 48 + 7] = 0 }
        #expect(failureReason()?.hasPrefix("column 7: ") == true)
        stored = bound.plain.floats().map { $0 * 0.7 }
        #expect(failureReason()?.hasPrefix("in all: ") == true, "\(failureReason() ?? "")")
        stored = bound.plain.floats()
        stored[0] = .nan
        #expect(failureReason()?.hasPrefix("row 0: ") == true)
    }

    @Test("codes by gptq make up for the errors of coarser weights before them, and others do not")
    func mixedBits() throws {
        var generator = SeededGenerator(seed: 7)
        let floats = (0..<64 * 48).map { _ in Float.random(in: -1...1, using: &generator) }
        let source = StoredTensor(name: "w", floats: floats, shape: [64, 48])
        let coarse = try CompressedTensor.compressing(source, with: try Codecs.codec("int4"), threads: 1).tensor
        let loss = RowBound.loss(of: [coarse])
        #expect(loss == 0x1p-8)
        // A quarter of the loss of four bits, which is 12 times and more that of eight.
        let stored = zip(floats, coarse.floats()).map { $0 + ($1 - $0) / 2 }
        func failureReason(_ codec: String, among others: Double) throws -> String? {
            let bound = try RowBound(of: source, as: try Codecs.codec(codec), among: others, threads: 1)
            return bound.verdict([bound.sums(0..<64, stored: stored, source: floats)], because: .calibration)
                .failureReason
        }
        #expect(try failureReason("int8:method=gptq", among: loss) == nil)
        #expect(try failureReason("int8:method=gptq", among: 0) != nil)
        #expect(try failureReason("int8:method=weighted", among: loss) != nil)
    }

    private static func report(_ program: ModelPlan, _ model: TinyModel) throws -> ParityReport {
        try Parity(of: .planned(program), against: .reference([model.program])).check(.init(stages: [.weights]))
    }

    /// All codes of some rows zero, and their scales 50.
    private static func losing(_ rows: Range<Int>, of program: ModelPlan) throws -> ModelPlan {
        var program = program
        let index = try #require(program.weights.firstIndex { $0.name == name })
        var bytes = StoredBytes(program.weights[index])
        let codes = try #require(bytes.index(of: "codes"))
        let scales = try #require(bytes.index(of: "scales"))
        let (codeBytes, scaleBytes) = (bytes.sections[codes].count / 64, bytes.sections[scales].count / 64)
        let width = bytes.codec.name == "int8" ? 4 : 2
        for row in rows {
            for place in row * codeBytes..<(row + 1) * codeBytes { bytes.sections[codes][place] = 0 }
            for place in stride(from: row * scaleBytes, to: (row + 1) * scaleBytes, by: width) {
                bytes.sections[scales].replaceSubrange(
                    place..<place + width, with: width == 4 ? [0, 0, 0x48, 0x42] : [0x40, 0x52])
            }
        }
        program.weights[index] = try bytes.tensor()
        return program
    }

    /// S1 of a package whose weights were scaled before they were stored, at the site of the first layer's feed-forward.
    private static func scaledReport(_ exponent: (Int) -> Int) throws -> ParityReport {
        let checkpoint = try Checkpoint(model: Fixtures.path("llama_llama3"))
        let programs = try Families.matching(checkpoint.configuration).model(for: checkpoint, parts: []).programs
        var scaled = ScaledWeights(of: programs)
        let site = try #require(
            scaled.sites.first { $0.readers.contains { $0.hasSuffix("layers.0.mlp.gate_proj.weight") } })
        let exponents = (0..<site.channels).map(exponent)
        let isExact = scaled.scale(site, by: exponents)
        #expect(isExact)
        let bindings = try ShapeBindings(parsing: "batch=1,tokens=3,cache=8")
        let frozen = try programs.map { try $0.replacing(scaled.tensors).freezing(bindings) }
        let compressed = try Recipe(default: Codecs.codec("int4:method=awq")).compressing(frozen, threads: 2)
        let contents = PackageContents(
            graph: try compressed.graph(),
            coverage: compressed.weights.map { weight in
                var entry = CoverageEntry(weight)
                entry.scaling = scaled.scalings[weight.tensor.name]
                return entry
            },
            provenance: Provenance(sources: [], family: "llama", recipe: .null, shapes: []))
        return try withTemporaryFolder { folder in
            _ = try PackageWriter.write(contents, to: "\(folder)/p.accelpkg")
            return try Parity(
                of: .package(try AcceleratorPackage(at: "\(folder)/p.accelpkg")), against: .reference(programs)
            ).check(.init(stages: [.container, .weights], threads: 2))
        }
    }
}
