import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCalibration

@Suite("The figure of the outputs over samples that are held out")
struct HeldOutTests {
    private static let share = CalibrationSamples.heldOutShare

    @Test("It is that of the held-out samples alone, in one run or several")
    func alone() throws {
        let digits = try Digits()
        let coarse = Array(try digits.compressed("int4", samples: []).values)
        let all = try digits.samples(0..<2 * Self.share).outputs(with: coarse, threads: 2)
        let held = try [Self.share - 1, 2 * Self.share - 1].map { image in
            try digits.samples(image..<image + 1).outputs(with: coarse, threads: 2).sqnr
        }
        let figure = try #require(all.heldOut)
        #expect(held[0] != held[1] && figure != all.sqnr)
        #expect((held.min() ?? 0)...(held.max() ?? 0) ~= figure)
        let one = try digits.samples(0..<Self.share).outputs(with: coarse, threads: 2)
        #expect(abs(try #require(one.heldOut) - held[0]) < 1e-3)
    }

    @Test("There is none where no whole sample can be held out")
    func few() throws {
        let digits = try Digits()
        let coarse = Array(try digits.compressed("int4", samples: []).values)
        #expect(try digits.samples(0..<Self.share - 1).outputs(with: coarse, threads: 2).heldOut == nil)
    }

    @Test("Weights by gptq are fitted to the others: they lose more on samples that they have not seen")
    func fitted() throws {
        let digits = try Digits()
        let samples = try digits.samples(0..<Self.share)
        let fitted = Array(try digits.compressed("palette:bits=2,method=gptq", samples: samples).values)
        let figures = try samples.outputs(with: fitted, threads: 2)
        let others = try digits.samples(100..<200).outputs(with: fitted, threads: 2)
        #expect(others.sqnr < figures.sqnr)
    }
}
