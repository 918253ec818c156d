import AccelByteIO
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@Suite("Weights whose bytes are computed")
struct HeldRowsTests {
    @Test(
        "rows are computed once and in parts, and give the encoding of a tensor in memory",
        arguments: ["int8", "int4:block=32", "float16", "affine:bits=4,block=64", "q4_0", "palette:bits=2,group=256"],
        [1, 3])
    func parts(_ scheme: String, _ threads: Int) throws {
        let (rows, columns) = (2304, 1024)
        let values = (0..<rows * columns).map { Float(($0 * 7919) % 4001 - 2000) / 512 }
        let plain = StoredTensor(name: "w", floats: values, shape: [rows, columns])
        let reads = Locked<[Int]>([])
        let derived = DerivedBytes(rows: rows, rowBytes: columns * 4) { rows, target in
            reads.withLock { $0.append(rows.count) }
            plain.bytes.read(rows.lowerBound * columns * 4..<rows.upperBound * columns * 4, into: target)
        }
        let computed = StoredTensor(
            name: "w", elementType: .float32, shape: [rows, columns], bytes: ByteView(derived))
        let codec = try Codecs.codec(scheme)
        let expected = try CompressedTensor.compressing(plain, with: codec, threads: threads)
        let found = try CompressedTensor.compressing(computed, with: codec, threads: threads)
        #expect(found.tensor.sections == expected.tensor.sections)
        #expect(found.distortion == expected.distortion)
        let counts = reads.withLock { $0 }
        #expect(counts.reduce(0, +) == rows && (counts.max() ?? 0) < rows, "\(counts)")
    }

    @Test("an error of the computation ends the compression, and a number that is not finite has its place")
    func failures() throws {
        let (rows, columns) = (2048, 1024)
        let broken = DerivedBytes(rows: rows, rowBytes: columns * 4) { rows, target in
            guard rows.upperBound < 1800 else { throw RequestError("a broken file") }
            target.initializeMemory(as: UInt8.self, repeating: 0)
        }
        let bytes = ByteView(broken)
        let tensor = StoredTensor(name: "w", elementType: .float32, shape: [rows, columns], bytes: bytes)
        let error = #expect(throws: RequestError.self) {
            try CompressedTensor.compressing(tensor, with: Codecs.codec("int8"), threads: 2)
        }
        #expect(error.map { "\($0)" } == "a broken file")
        let infinite = DerivedBytes(rows: rows, rowBytes: columns * 4) { rows, target in
            target.initializeMemory(as: UInt8.self, repeating: 0)
            guard rows.contains(2000) else { return }
            target.storeBytes(
                of: Float.infinity, toByteOffset: ((2000 - rows.lowerBound) * columns + 7) * 4, as: Float.self)
        }
        let other = StoredTensor(
            name: "w", elementType: .float32, shape: [rows, columns], bytes: ByteView(infinite))
        let place = #expect(throws: FormatError.self) {
            try CompressedTensor.compressing(other, with: Codecs.codec("int8"), threads: 2)
        }
        #expect(place?.location == .tensor("w", index: 2000 * columns + 7))
    }
}
