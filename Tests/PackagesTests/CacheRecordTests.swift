import AccelByteIO
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelPackages

@Suite("A record is whole, or it is a miss")
struct CacheRecordTests {
    private var record: CacheRecord {
        var distortion = Distortion()
        distortion.count = 12
        distortion.squaredError = 0.1
        distortion.energy = 3.5
        distortion.maximumError = 1e-300
        return CacheRecord(
            key: CacheKey(kind: .tensor, fields: [.init("codec", "int8"), .init("content", "é\n\"")]),
            files: [
                .init(path: "sections", digest: SHA256.digest(of: "a"), byteCount: 1 << 40),
                .init(path: "assets/1/config.json", digest: SHA256.digest(of: "b"), byteCount: 0),
            ],
            model: "mini", distortion: distortion, package: SHA256.digest(of: "p"))
    }

    @Test("it comes back as it was written")
    func roundTrip() throws {
        #expect(try CacheRecord(record.encoded, file: "record") == record)
    }

    @Test("it is an ActionResult of the Remote Execution API")
    func actionResult() throws {
        let bytes = record.encoded
        var message = ProtobufReader(bytes[0..<bytes.count - 16], file: "record")
        var numbers: [Int] = []
        while let field = try message.next() { numbers.append(field.number) }
        #expect(numbers == [2, 2, 5, 9])
    }

    @Test("cut off anywhere, with any bit flipped, or partly zeroed, it is rejected")
    func damage() throws {
        let bytes = record.encoded.array
        for count in 0..<bytes.count {
            #expect(throws: FormatError.self) { try CacheRecord(ByteView(Array(bytes[..<count])), file: "record") }
        }
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << bit
                #expect(throws: FormatError.self) { try CacheRecord(ByteView(damaged), file: "record") }
            }
        }
        for start in stride(from: 0, to: bytes.count, by: 16) {
            var damaged = bytes
            for index in start..<bytes.count { damaged[index] = 0 }
            #expect(throws: FormatError.self) { try CacheRecord(ByteView(damaged), file: "record") }
        }
    }

    @Test("a memo of digests is whole, or it is rejected")
    func memo() throws {
        let memo = DigestMemo(
            identity: FileIdentity(
                device: 1, inode: 2, size: 3, modifiedNanoseconds: -4, changedNanoseconds: 5),
            read: 6, file: SHA256.digest(of: "f"), tensors: [SHA256.digest(of: "a"), SHA256.digest(of: "b")])
        let bytes = memo.encoded.array
        #expect(try DigestMemo(ByteView(bytes), file: "memo") == memo)
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 0x10
            #expect(throws: FormatError.self) { try DigestMemo(ByteView(damaged), file: "memo") }
            #expect(throws: FormatError.self) { try DigestMemo(ByteView(Array(bytes[..<index])), file: "memo") }
        }
    }
}
