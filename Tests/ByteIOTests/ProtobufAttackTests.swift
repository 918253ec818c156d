import AccelByteIO
import TestSupport
import Testing

@Suite("hostile Protocol Buffers messages")
struct ProtobufAttackTests {
    @Test("each is judged, with the place and the reason", arguments: Attack.protobuf)
    func verdict(attack: Attack) {
        #expect(
            attack.flaw { bytes, file in
                var reader = ProtobufReader(bytes, file: file)
                try reader.forEach { _ in }
            } == nil)
    }

    @Test("packed numbers that end early, and numbers that are no text, are rejected")
    func packed() throws {
        func field(_ bytes: [UInt8]) throws -> ProtobufReader.Field {
            var reader = ProtobufReader(ByteView(bytes), file: "m")
            return try #require(try reader.next())
        }
        #expect(try field([0x0A, 2, 0x96, 1]).integers() == [150])
        #expect(throws: FormatError.self) { try field([0x0A, 2, 1, 0x80]).integers() }
        #expect(throws: FormatError.self) { try field([0x0A, 3, 1, 2, 3]).floats() }
        #expect(throws: FormatError.self) { try field([0x0A, 4, 1, 2, 3, 4]).doubles() }
        #expect(throws: FormatError.self) { try field([0x0A, 2, 0xC3, 0x28]).string() }
        #expect(throws: FormatError.self) { try field([0x08, 1]).message() }
        #expect(throws: FormatError.self) { try field([0x0A, 0]).integer() }
    }
}
