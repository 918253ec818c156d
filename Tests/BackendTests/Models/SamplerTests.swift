import Foundation
import Testing

@testable import Accel

@Suite("The choice of tokens at random")
struct SamplerTests {
    private static let draws = 2000

    /// Returns the share of each of three tokens with the probabilities 0.3, 0.5 and 0.2.
    private func shares(temperature: Float = 1, topK: Int? = nil, topP: Float = 1) throws -> [Double] {
        let logits = [0.3, 0.5, 0.2].map { Float(log($0)) }
        var sampler = Sampler(.random(temperature: temperature, topK: topK, topP: topP, seed: 5))
        var counts = [0, 0, 0]
        for _ in 0..<Self.draws { counts[Int(try sampler.choose(from: logits.span))] += 1 }
        return counts.map { Double($0) / Double(Self.draws) }
    }

    @Test(
        "topP considers the fewest tokens whose probabilities add up to it, topK so many, each by its probability",
        arguments: [
            (nil, 1, [0.3, 0.5, 0.2]), (nil, 0.85, [0.3, 0.5, 0.2]), (nil, 0.75, [0.375, 0.625, 0]),
            (nil, 0.55, [0.375, 0.625, 0]), (nil, 0.45, [0, 1, 0]), (nil, 0, [0, 1, 0]), (3, 1, [0.3, 0.5, 0.2]),
            (2, 1, [0.375, 0.625, 0]), (1, 1, [0, 1, 0]), (2, 0.7, [0.375, 0.625, 0]), (2, 0.6, [0, 1, 0]),
        ] as [(Int?, Float, [Double])])
    func candidates(topK: Int?, topP: Float, expected: [Double]) throws {
        for (found, expected) in zip(try shares(topK: topK, topP: topP), expected) {
            // Five standard deviations of the share of so many draws.
            let noise = 5 * (expected * (1 - expected) / Double(Self.draws)).squareRoot()
            #expect(abs(found - expected) <= noise, "\(found), expected \(expected)")
        }
    }

    @Test("a temperature divides the logits")
    func temperature() throws {
        let powers = [0.3, 0.5, 0.2].map { pow($0, 1 / 0.5) }
        for (found, power) in zip(try shares(temperature: 0.5), powers) {
            #expect(abs(found - power / powers.reduce(0, +)) < 0.06)
        }
    }
}
