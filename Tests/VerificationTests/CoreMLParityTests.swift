import AccelByteIO
import AccelFormats
import AccelTensors
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Parity of Core ML packages")
struct CoreMLParityTests {
    @Test("Names as converters write them lead to the checkpoint's tensor")
    func names() throws {
        let package = try CoreMLPackage(at: Fixtures.path("coreml/weights_iOS18.mlpackage"))
        let weight = try #require(try package.weights.first { $0.name == "w_pal3_group_palettized" })
        func source(_ name: String, _ shape: Shape) -> StoredTensor {
            StoredTensor(name: name, floats: [Float](repeating: 0, count: shape.count), shape: shape)
        }
        func found(_ sources: [StoredTensor]) -> String? { CoreMLWeightMatcher(sources).byName(weight)?.source.name }
        #expect(found([source("w.pal3.group", [24, 40])]) == "w.pal3.group")
        #expect(found([source("pal3_group", [24, 40])]) == "pal3_group")
        #expect(found([source("model.W.pal3_group", [40, 24])]) == "model.W.pal3_group")
        #expect(found([source("w.pal3.group", [24, 39])]) == nil)
        #expect(found([source("w.pal3", [24, 40])]) == nil)
    }

    @Test("A weight without a name is told by its elements, also when its axes are exchanged, and by nothing less")
    func elements() throws {
        let package = try CoreMLPackage(at: Fixtures.path("coreml/weights_iOS18.mlpackage"))
        let weight = try #require(try package.weights.first { $0.name == "w_pal3_group_palettized" })
        let elements = try package.tensor(of: weight).floats()
        let turned = (0..<960).map { elements[$0 % 24 * 40 + $0 / 24] }
        let other = (0..<960).map { Float($0 % 7) - 3 }
        let matcher = CoreMLWeightMatcher([
            StoredTensor(name: "a", floats: other, shape: [24, 40]),
            StoredTensor(name: "b", floats: turned, shape: [40, 24]),
        ])
        let match = try #require(matcher.byElements(weight, elements, excluding: []))
        #expect(match.source.name == "b" && match.isTransposed)
        #expect(match.floats(as: weight.shape) == elements)
        #expect(matcher.byElements(weight, elements, excluding: ["b"]) == nil)
    }

    @Test("States start as earlier runs leave them, so that a package that does not read them is noticed")
    func states() throws {
        for (readsState, status) in [(true, ExitStatus.success), (false, .exceeded)] {
            let (model, weights) = try CoreMLSample.exported(
                try CoreMLSample.program(readsState: readsState), "float16")
            let report = try CoreMLSample.report(
                try CoreMLSample.unsealed(model, weights), try CoreMLSample.program(),
                .init(stages: [.outputs], inputs: .seeded(1)))
            #expect(report.exitStatus == status, "\(readsState)")
        }
    }

    /// Outputs alone are held to what computing in float16 loses, and not to four times what the wrong weights lose.
    @Test(
        "A package of another tool has the model's numbers, or these as float16: a factor is noticed",
        arguments: ["float32", "float16"], [(Stage.weights, 1.002), (Stage.outputs, 1.03)] as [(Stage, Float)])
    func factors(_ codec: String, _ fault: (stage: Stage, factor: Float)) throws {
        for factor in [1, fault.factor] {
            let (model, weights) = try CoreMLSample.exported(try CoreMLSample.program(factor: factor), codec)
            let report = try CoreMLSample.report(
                try CoreMLSample.unsealed(model, weights), try CoreMLSample.program(),
                .init(stages: [fault.stage], inputs: .seeded(1)))
            #expect(report.exitStatus == (factor == 1 ? .success : .exceeded), "\(factor)")
        }
    }

    @Test("What a weight may lose goes by the bits of its codes")
    func tolerances() throws {
        let weights = try CoreMLPackage(at: Fixtures.path("coreml/weights_iOS18.mlpackage")).weights
        func scheme(_ name: String) throws -> String {
            SchemeTolerance.line(for: try #require(weights.first { $0.name.hasPrefix("w_\(name)") })).scheme
        }
        #expect(try scheme("plain") == "float16")
        #expect(try scheme("pal3_group") == "3 bits")
        #expect(try scheme("block8") == "8 bits")
        #expect(try scheme("block4") == "4 bits")
        #expect(try scheme("lut8") == "4 bits")
        #expect(try scheme("vector_pal") == "2 bits")
        #expect(try scheme("vector_in") == "1 bit")
        #expect(try scheme("sparse_int8") == "1 bit")
    }
}
