import AccelWeightCompression
import Testing

@testable import AccelCalibration

@Suite("The search for a choice of schemes")
struct ChoiceSearchTests {
    /// Two weights of the same size, each by three schemes of 100, 200 and 400 bytes.
    private func hull(_ errors: [Double]) throws -> [SchemeCandidate] {
        let codec = try Codecs.codec("int8")
        return zip([100, 200, 400], errors).map { SchemeCandidate(codec: codec, bytes: $0, error: $1) }
    }

    /// What is predicted of the first weight is too large by far, as gptq makes up for it; the second has its whole error.
    private func plan(_ hulls: [[SchemeCandidate]], _ choice: [Int]) -> CompressionPlan {
        let error = hulls[0][choice[0]].error / 100 + hulls[1][choice[1]].error
        let bytes = hulls[0][choice[0]].bytes + hulls[1][choice[1]].bytes
        return CompressionPlan(
            codecs: [:], bytes: bytes, bits: 0,
            outputs: SampledOutputs(
                [(name: "model", errors: SampledErrors(all: ["output": error], heldOut: nil))], heldOut: 0),
            statistics: [:], isUniform: false)
    }

    @Test("Steps are taken by the error that they remove per byte, and only those that fit")
    func path() throws {
        let codec = try Codecs.codec("int8")
        func hull(_ steps: [(bytes: Int, error: Double)]) -> [SchemeCandidate] {
            steps.map { SchemeCandidate(codec: codec, bytes: $0.bytes, error: $0.error) }
        }
        // The first weight's step removes the most, the second's the most per byte.
        let hulls = [hull([(100, 1), (400, 0.25)]), hull([(100, 0.5), (120, 0.25)]), hull([(100, 0.5), (200, 0)])]
        let points = ParetoPath(hulls).points
        #expect(points.map(\.choice) == [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 1]])
        #expect(points.map(\.bytes) == [300, 320, 420, 720] && points.map(\.error) == [2, 1.75, 1.25, 0.5])
        #expect(ParetoPath(hulls, byteLimit: 719).points.last?.choice == [0, 1, 1])
        #expect(ParetoPath(hulls, byteLimit: 720).points.last?.choice == [1, 1, 1])
        // One that does not fit is left out, and the next, which is smaller, is taken.
        #expect(ParetoPath(hulls, byteLimit: 620).points.last?.choice == [0, 1, 1])
        let large = [hull([(100, 1), (400, 0)]), hull([(100, 0.5), (150, 0.49)])]
        #expect(ParetoPath(large, byteLimit: 300).points.last?.choice == [0, 1])
    }

    @Test("A scheme that serves in the whole is found where the prediction has another")
    func leastError() throws {
        let hulls = [try hull([0.08, 0.02, 0.005]), try hull([0.04, 0.01, 0.0025])]
        let predicted = try #require(ParetoPath(hulls, byteLimit: 500).points.last)
        #expect(predicted.choice == [1, 1])
        var measured: [[Int]] = []
        let best = try ChoiceSearch(hulls: hulls, counts: [400, 400], aim: .leastError(byteLimit: 500)).best {
            measured.append($0)
            return plan(hulls, $0)
        }
        #expect(measured.first == [1, 1])
        #expect(best?.bytes == 500)
        #expect(best?.sqnr == plan(hulls, [0, 2]).sqnr)
        #expect(measured.count <= 6)
    }

    @Test("The fewest bytes for an SQNR are found where the prediction has more")
    func fewestBytes() throws {
        let hulls = [try hull([0.08, 0.02, 0.005]), try hull([0.04, 0.01, 0.0025])]
        let wanted = plan(hulls, [0, 2]).sqnr
        let predicted = try #require(
            ParetoPath(hulls).points.first { plan(hulls, $0.choice).sqnr >= wanted })
        #expect(predicted.bytes > 500)
        let best = try ChoiceSearch(hulls: hulls, counts: [400, 400], aim: .fewestBytes(sqnr: wanted)).best {
            plan(hulls, $0)
        }
        #expect(best?.bytes == 500)
    }

    @Test("Only large weights are tried, and no choice beyond the limit is measured")
    func limits() throws {
        let small = try hull([0.004, 0.001, 0.0002])
        let hulls = [try hull([0.08, 0.02, 0.005])] + [small] + [try hull([0.04, 0.01, 0.0025])]
        try ChoiceSearch(hulls: hulls, counts: [400, 4, 400], aim: .leastError(byteLimit: 600)).best { choice in
            #expect(zip(hulls, choice).reduce(0) { $0 + $1.0[$1.1].bytes } <= 600)
            return plan([hulls[0], hulls[2]], [choice[0], choice[2]])
        }.map { #expect($0.bytes <= 600) }
        let none = try ChoiceSearch(hulls: hulls, counts: [400, 4, 400], aim: .leastError(byteLimit: 200)).best { _ in
            Issue.record("a choice beyond the limit was measured")
            return plan([hulls[0], hulls[2]], [0, 0])
        }
        #expect(none == nil)
    }
}
