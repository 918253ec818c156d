import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Compressing again")
struct RecompressionTests {
    @Test("what the checkpoint and the scheme determine is found byte for byte", arguments: SelfTestTests.codecs)
    func again(codec: String) throws {
        let model = try TinyModel()
        for weight in try model.planned(codec).weights {
            guard let source = model.weights.first(where: { $0.name == weight.name }) else { continue }
            let again = try Recompression(of: source, as: weight.codec, threads: 2)
            let isCalibrated = weight.codec.method == .gptq || weight.codec.method == .weighted
            #expect((again == nil) == isCalibrated)
            #expect(again?.failureReason(for: weight) == nil)
        }
    }

    @Test(
        "any byte that is changed is named by its section and place", arguments: ["float16", "palette:bits=4,group=8"])
    func changedByte(codec: String) throws {
        let model = try TinyModel()
        let weight = try #require(try model.planned(codec).weights.first { $0.name == "layer.0.up.weight" })
        let source = try #require(model.weights.first { $0.name == weight.name })
        let again = try #require(try Recompression(of: source, as: weight.codec, threads: 1))
        for section in weight.sections.indices {
            for place in stride(from: 0, to: weight.sections[section].count, by: 37) {
                var bytes = StoredBytes(weight)
                bytes.sections[section][place] ^= 1
                guard let changed = try? bytes.tensor() else { continue }
                let failureReason = try #require(again.failureReason(for: changed))
                #expect(
                    failureReason.contains("byte \(place) of \(weight.sections[section].count)"), "\(failureReason)")
            }
        }
    }

    @Test(
        "figures of another weight in the package's table are caught, if they differ by more than sums in another order do"
    )
    func figures() throws {
        let model = try TinyModel()
        let compressed = try model.compressed("int8")
        var stage = WeightStage(
            program: try compressed.planned(), model: try ReferenceModel([model.program], for: compressed.planned()),
            budget: nil, threads: 1)
        let weight = try #require(compressed.weights.first { $0.tensor.name == "layer.0.up.weight" })
        func failure(_ change: (inout Distortion) -> Void) throws -> String? {
            var distortion = weight.distortion
            change(&distortion)
            stage.recorded = [weight.tensor.name: distortion]
            return try stage.finding(weight.tensor)?.finding.failure
        }
        #expect(try failure { _ in } == nil)
        #expect(try failure { $0.energy = $0.energy.nextUp } == nil)
        let rounding = Double(weight.distortion.count) * 0x1p-52
        #expect(try failure { $0.energy *= 1 + 2 * rounding } != nil)
        #expect(try failure { $0.squaredError *= 1 - 2 * rounding } != nil)
        #expect(try failure { $0.count += 1 } != nil)
        #expect(try failure { $0.maximumError = 0 } != nil)
        // Another version of the tool may choose other codes; the figures still have to be those of the bytes.
        stage.otherCodecs = Set(Codecs.numericsVersions.keys)
        #expect(try failure { $0.energy = $0.energy.nextUp } == nil)
        #expect(try failure { $0.energy *= 1.01 } != nil)
    }

    @Test("a code that is not the nearest is a failure, whatever a budget allows the weight to lose")
    func violations() throws {
        let model = try TinyModel()
        let compressed = try model.compressed("int8")
        let text = #"{"weights": [{"match": "*", "sqnr": 1}]}"#
        let budget = try Budget(JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: "b"), file: "b"))
        var stage = WeightStage(
            program: try compressed.planned(), model: try ReferenceModel([model.program], for: compressed.planned()),
            budget: budget, threads: 1)
        let weight = try #require(compressed.weights.first { $0.tensor.name == "layer.0.up.weight" }).tensor
        var codes = weight.sections[0].withBytes(Array.init)
        codes[5] ^= 1
        let changed = try CompressedTensor(
            name: weight.name, elementType: weight.elementType, shape: weight.shape, codec: weight.codec,
            sections: [ByteView(codes)] + weight.sections.dropFirst())
        for proves in [true, false] {
            stage.provesCodes = proves
            #expect(try stage.finding(weight)?.finding.failure == nil)
            #expect(try stage.finding(changed)?.finding.failure?.hasPrefix("element 5: ") == true)
        }
    }
}
