import AccelByteIO
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCalibration

@Suite("What each weight costs the outputs")
struct WeightLossTests {
    /// The matrices of the first layer.
    private func matrices(
        _ scheme: String, of digits: Digits, _ samples: [CalibrationSamples]
    ) throws -> [String: CompressedTensor] {
        try digits.compressed(scheme, samples: samples).filter {
            $0.key.contains("layer.0") && $0.value.shape.rank == 2
        }
    }

    @Test("Without gptq: the outputs with this weight alone, the worst first")
    func alone() throws {
        let digits = try Digits()
        let samples = try digits.samples(0..<4)
        let stored = try matrices("palette:bits=2", of: digits, [])
        let losses = try [WeightLoss](of: Array(stored.values), over: try #require(samples.first), threads: 2)
        #expect(losses.count == stored.count && losses.map(\.sqnr) == losses.map(\.sqnr).sorted())
        for loss in losses {
            let tensor = try #require(stored[loss.name])
            let expected = try samples.outputs(with: [tensor], threads: 2).sqnr
            #expect(loss.whole == nil && abs(loss.sqnr - expected) < 1e-3, "\(loss.name)")
            if let remedied = loss.remedy?.sqnr { #expect(remedied > loss.sqnr) }
        }
        #expect(losses.first?.remedy?.sqnr != nil)
    }

    @Test("By gptq: the outputs with all others stored and this weight as in the model, the largest gain first")
    func joint() throws {
        let digits = try Digits()
        let samples = try digits.samples(0..<4)
        let stored = try matrices("palette:bits=2,method=gptq", of: digits, samples)
        let losses = try [WeightLoss](of: Array(stored.values), over: try #require(samples.first), threads: 2)
        let gains = losses.map(\.sqnr)
        #expect(gains.count == stored.count && gains == gains.sorted(by: >))
        let whole = try samples.outputs(with: Array(stored.values), threads: 2).sqnr
        for loss in losses {
            let others = stored.filter { $0.key != loss.name }.values
            let expected: Double = try samples.outputs(with: Array(others), threads: 2).sqnr
            let found = try #require(loss.whole)
            #expect(abs(found - whole) < 1e-3)
            #expect(abs(loss.sqnr - expected) < 1e-3, "\(loss.name)")
            #expect(loss.isCostly == (loss.sqnr > whole))
            if let remedied = loss.remedy?.sqnr { #expect(remedied > whole) }
        }
        #expect(losses.first?.remedy?.sqnr != nil)
    }

    @Test("A loss reads back from its document")
    func document() throws {
        for whole in [nil, 0.25] {
            let loss = WeightLoss("w", "int4", bytes: 12, error: 0.125, whole: whole)
            let text = JSON.object([.init("loss", loss.json { .number($0) })]).text()
            let field = JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: "losses"), file: "losses")["loss"]
            let back = try WeightLoss(field)
            #expect(back.name == "w" && back.bytes == 12 && back.sqnr == loss.sqnr && back.whole == loss.whole)
        }
    }
}
