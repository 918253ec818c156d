import AccelByteIO
import Foundation
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Metrics")
struct MetricsTests {
    @Test("Figures of two small vectors are those computed by hand")
    func byHand() {
        let metrics = Metrics([3, 4, -1], against: [3, 5, 1])
        #expect(metrics.squaredError == 5)
        #expect(metrics.maximumError == 2)
        #expect(metrics.peak == 5)
        #expect(abs(metrics.sqnr - 10 * log10(35.0 / 5)) < 1e-12)
        #expect(abs(metrics.psnr - 10 * log10(25.0 / (5.0 / 3))) < 1e-12)
        #expect(abs(metrics.relativeL2 - (5.0 / 35).squareRoot()) < 1e-15)
        #expect(abs(metrics.cosine - 28 / (26.0 * 35).squareRoot()) < 1e-15)
        #expect(metrics.signFlips == 1)
        #expect(abs(metrics.referenceRMS - (35.0 / 3).squareRoot()) < 1e-15)
    }

    @Test("Equal tensors have infinite ratios, which JSON carries as a word")
    func equal() {
        let metrics = Metrics([1, 2], against: [1, 2])
        #expect(metrics.isExact && metrics.sqnr == .infinity && metrics.cosine == 1)
        #expect(metrics.json["sqnr"] == "infinity")
        #expect(Metrics([0, 0], against: [0, 0]).sqnr == .infinity)
        #expect(Metrics([1, 0], against: [0, 0]).sqnr == -.infinity)
        #expect(Metrics([1, 0], against: [0, 0]).json["sqnr"] == "-infinity")
    }

    @Test("a failure's value and limit differ as they are printed, however near they are")
    func apart() throws {
        let metrics = Metrics([3, 4, -1], against: [3, 4.001, -1])
        for part in [1e-2, 1e-4, 1e-6, 1e-8] {
            let beyond = [
                Tolerance(sqnr: metrics.sqnr * (1 + part), origin: ""),
                Tolerance(maximumError: metrics.maximumError * (1 - part), origin: ""),
                Tolerance(relativeL2: metrics.relativeL2 * (1 - part), origin: ""),
                Tolerance(cosine: metrics.cosine + (1 - metrics.cosine) * max(part, 1e-3), origin: ""),
            ]
            for limit in beyond {
                let words = try #require(limit.failureReason(for: metrics)).split(separator: " ").compactMap {
                    Double($0)
                }
                #expect(words.count == 2 && words[0] != words[1], "\(words)")
            }
        }
        #expect(Tolerance(cosine: 0.99999999, origin: "").summary == "cosine >= 0.99999999")
        #expect(Tolerance(sqnr: 25.125, cosine: 0.98, origin: "").summary == "SQNR >= 25.125 dB, cosine >= 0.980000")
    }

    @Test(
        "sums of any length, with what is not finite anywhere, are those of a plain loop",
        arguments: [1, 7, 8, 4095, 9001])
    func sums(count: Int) {
        var generator = SeededGenerator(seed: UInt64(count))
        for extremes in [[Float](), [.infinity], [.nan, 3e38, -3e38, .leastNonzeroMagnitude, 0]] {
            var (x, r) = ([Float](), [Float]())
            for index in 0..<count {
                x.append(Float.random(in: -1...1, using: &generator))
                r.append(index % 3 == 0 ? x[index] : Float.random(in: -1...1, using: &generator))
            }
            for (index, value) in extremes.enumerated() { x[(index * 977 + count / 2) % count] = value }
            let metrics = Metrics(x, against: r)
            var (error, energy, product, flips, largest, mismatches) = (0.0, 0.0, 0.0, 0, 0.0, 0)
            for (a, b) in zip(x, r) {
                guard a.isFinite else {
                    mismatches += 1
                    continue
                }
                let distance = Double(a) - Double(b)
                error += distance * distance
                energy += Double(b) * Double(b)
                product += Double(a) * Double(b)
                largest = max(largest, abs(distance))
                if Double(a) * Double(b) < 0 { flips += 1 }
            }
            func isNear(_ found: Double, _ wanted: Double) -> Bool {
                abs(found - wanted) <= 1e-12 * abs(wanted) + 1e-14
            }
            #expect(isNear(metrics.squaredError, error) && isNear(metrics.referenceEnergy, energy))
            #expect(abs(metrics.product - product) <= 1e-12 * (abs(product) + energy + error))
            #expect(metrics.count == count && metrics.maximumError == largest && metrics.signFlips == flips)
            #expect(metrics.nonFiniteMismatches == mismatches && metrics.distribution.count == count - mismatches)
            #expect(metrics.distribution.decades.reduce(0) { $0 + $1.count } == count - mismatches)
        }
    }

    @Test("A scaled tensor has cosine 1 and a poor SQNR")
    func scaled() {
        let values = (1...100).map(Float.init)
        let metrics = Metrics(values.map { $0 / 2 }, against: values)
        #expect(metrics.cosine > 0.999999)
        #expect(abs(metrics.sqnr - 20 * log10(2)) < 1e-9)
    }

    private static let oneSided: [(Float, Float)] = [(.nan, 1), (1, .nan), (.infinity, -.infinity), (.infinity, .nan)]

    @Test("NaN or infinity on one side only is a mismatch that no limit forgives", arguments: oneSided)
    func nonFinite(value: Float, reference: Float) {
        let metrics = Metrics([value, 1], against: [reference, 1])
        #expect(metrics.nonFiniteMismatches == 1 && !metrics.isExact && metrics.sqnr == -.infinity)
        #expect(Tolerance(origin: "").failureReason(for: metrics) != nil)
    }

    @Test("The same infinity or NaN on both sides agrees")
    func sameNonFinite() {
        let metrics = Metrics([.infinity, .nan, -.infinity, 2], against: [.infinity, .nan, -.infinity, 2])
        #expect(metrics.isExact && metrics.nans == 1 && metrics.infinities == 2)
    }

    @Test("The 99.9th percentile ignores a single outlier in ten thousand and not eleven")
    func percentile() {
        let reference = [Float](repeating: 0, count: 10_000)
        func metrics(outliers: Int) -> Metrics {
            Metrics((0..<10_000).map { $0 < outliers ? 8 : 0.25 }, against: reference)
        }
        #expect(abs(metrics(outliers: 1).percentile999 - 0.25) < 0.25 / 100)
        #expect(metrics(outliers: 11).percentile999 == 8)
        #expect(metrics(outliers: 1).maximumError == 8)
    }

    @Test("Parts merge to what the whole gives, up to the rounding of sums")
    func merging() {
        let values = (0..<1000).map { Float(sin(Double($0))) }
        let reference = values.map { $0 + 1e-3 * $0 * $0 }
        let whole = Metrics(values, against: reference)
        var parts = Metrics()
        for start in stride(from: 0, to: 1000, by: 300) {
            let range = start..<min(start + 300, 1000)
            parts.merge(Metrics(Array(values[range]), against: Array(reference[range])))
        }
        #expect(abs(parts.sqnr - whole.sqnr) < 1e-9)
        #expect(parts.distribution == whole.distribution && parts.count == 1000)
        #expect(parts.maximumError == whole.maximumError && parts.peak == whole.peak)
    }

    @Test("Logits agree in a row when the largest element is at the same place")
    func argmax() {
        let metrics = Metrics([1, 5, 2, 9, 1, 1], against: [0, 4, 3, 1, 7, 1], rowLength: 3)
        #expect(metrics.argmaxAgreement == 0.5)
        #expect(Metrics([1], against: [1]).argmaxAgreement == nil)
    }

    @Test("The histogram counts every element once, by power of ten, without gaps")
    func histogram() {
        let metrics = Metrics([0, 0.5, 0.05, 20], against: [0, 0, 0, 0])
        #expect(metrics.distribution.decades.map(\.exponent) == [nil, -2, -1, 0, 1])
        #expect(metrics.distribution.decades.map(\.count) == [1, 1, 1, 0, 1])
    }
}
