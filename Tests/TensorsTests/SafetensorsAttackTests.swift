import AccelByteIO
import TestSupport
import Testing

@testable import AccelTensors

@Suite("hostile safetensors files")
struct SafetensorsAttackTests {
    @Test("each is judged, with the place and the reason", arguments: Attack.safetensors)
    func verdict(attack: Attack) {
        #expect(attack.flaw { _ = try SafetensorsFile($0, file: $1) } == nil)
    }

    @Test("a valid file cut at any byte is rejected")
    func truncation() throws {
        let whole = try sample()
        #expect(throws: Never.self) { try SafetensorsFile(ByteView(whole), file: "whole") }
        for count in 0..<whole.count {
            #expect(throws: FormatError.self) {
                try SafetensorsFile(ByteView(Array(whole[..<count])), file: "cut")
            }
        }
    }

    @Test("a valid file with any bit of its header turned is read or rejected, never worse")
    func bitFlips() throws {
        let whole = try sample()
        for bit in 0..<8 * (whole.count - 12) {
            var turned = whole
            turned[bit / 8] ^= 1 << (bit % 8)
            // Any error is a FormatError: the initializer's type says so.
            guard let file = try? SafetensorsFile(ByteView(turned), file: "turned") else { continue }
            for tensor in file.tensors { _ = tensor.floats() }
        }
    }

    private func sample() throws -> [UInt8] {
        try withTemporaryFolder { folder in
            let tensors = [
                StoredTensor(name: "weight", floats: [1, 2], shape: [2, 1]),
                StoredTensor(name: "bias", elementType: .float16, shape: [2], bytes: ByteView([UInt16(1), 2])),
            ]
            try SafetensorsWriter.write(tensors, to: "\(folder)/a", as: .part, metadata: [("format", "pt")])
            return try MappedFile("\(folder)/a").bytes.withBytes { Array($0) }
        }
    }
}
