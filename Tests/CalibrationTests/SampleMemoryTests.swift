import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCalibration

@Suite("The memory of calibration")
struct SampleMemoryTests {
    @Test("values beyond the window are in a file, with the same bytes")
    func store() throws {
        let store = SampleStore(in: SampleMemory(limit: 100))
        func fill(_ number: Int, _ count: Int, _ value: UInt8) throws {
            try store.store(number, count: count) { $0.initializeMemory(as: UInt8.self, repeating: value) }
        }
        func value(_ number: Int, _ count: Int) throws -> Set<UInt8> {
            try store.read(number, count: count) { Set($0) }
        }
        for number in 0..<5 { try fill(number, 40, UInt8(number)) }
        for number in 0..<5 { #expect(try value(number, 40) == [UInt8(number)]) }
        // Larger and smaller ones take their places.
        for number in 0..<5 { try fill(number, 30 + 10 * number, UInt8(10 + number)) }
        for number in 0..<5 { #expect(try value(number, 30 + 10 * number) == [UInt8(10 + number)]) }
    }

    @Test("memory does not grow with the samples, and their limit changes no bit", arguments: [0, 1 << 12, 1 << 28])
    func window(bytes: Int) throws {
        let digits = try Digits()
        let (few, many) = (try digits.samples(0..<32), try digits.samples(0..<96))
        let (one, three) = (
            try SampleRun(few[0], memory: SampleMemory(limit: bytes), threads: 2).arenaBytes,
            try SampleRun(many[0], memory: SampleMemory(limit: bytes), threads: 2).arenaBytes
        )
        #expect(three >= one && three - one <= bytes)
        let usual = try SampleRun(many[0], threads: 1)
        let run = try SampleRun(many[0], memory: SampleMemory(limit: bytes), threads: 2)
        #expect(run.chunks.count > 2)
        for weight in run.weights.indices {
            try usual.run(to: weight)
            try run.run(to: weight)
            let (one, other) = (try usual.statistics(of: weight), try run.statistics(of: weight))
            #expect(one?.digest == other?.digest && one != nil)
        }
        #expect(try run.error(from: ReferenceOutputs(of: usual)) == 0)
    }
}
