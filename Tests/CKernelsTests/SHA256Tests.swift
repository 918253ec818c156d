import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    @Suite struct SHA256 {
        /// A whole digest around the block function: padding as FIPS 180-4 says.
        static func digest(_ message: [UInt8]) -> String {
            var state: [UInt32] = [
                0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
            ]
            var padded = message + [0x80]
            padded += [UInt8](repeating: 0, count: (120 - padded.count % 64) % 64)
            for shift in stride(from: 56, through: 0, by: -8) {
                padded.append(UInt8(truncatingIfNeeded: (UInt64(message.count) * 8) >> UInt64(shift)))
            }
            ck_sha256_blocks(&state, padded, padded.count / 64)
            return state.map { word in
                let digits = String(word, radix: 16)
                return String(repeating: "0", count: 8 - digits.count) + digits
            }.joined()
        }

        @Test(
            "the published digests come out on every set",
            arguments: [
                ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
                ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
                (
                    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
                ),
            ])
        func published(message: String, expected: String) {
            for digest in onEachSet({ Self.digest(Array(message.utf8)) }) { #expect(digest == expected) }
        }

        @Test("a million times the letter a")
        func million() {
            let message = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
            #expect(Self.digest(message) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
        }

        @Test("random messages of lengths 0 to 4097 have the same digest on every set")
        func lengths() {
            var generator = SeededGenerator(seed: 3)
            let bytes = generator.bytes(4097)
            for length in Array(0...130) + Array(stride(from: 131, through: 4097, by: 61)) + [4095, 4096, 4097] {
                let message = Array(bytes.suffix(length))
                #expect(onEachSet { Self.digest(message) }.agree, "length \(length)")
            }
        }

        @Test("any number of hashes at a time are those of one after the other, on every set")
        func many() {
            var generator = SeededGenerator(seed: 4)
            let (length, blocks) = (64 * 3, 3)
            let bytes = generator.bytes(length * 37 + 1)
            for hashes in 0...37 {
                let states = (0..<8 * hashes).map { _ in UInt32.random(in: .min ... .max, using: &generator) }
                let found = onEachSet {
                    var states = states
                    bytes.withUnsafeBufferPointer { bytes in
                        let sources = (0..<hashes).map { index in bytes.baseAddress.map { $0 + 1 + length * index } }
                        ck_sha256_blocks_many(&states, sources, hashes, blocks)
                    }
                    return states
                }
                let expected = (0..<hashes).flatMap { index in
                    var state = Array(states[8 * index..<8 * index + 8])
                    ck_sha256_blocks(&state, Array(bytes[(1 + length * index)...]), blocks)
                    return state
                }
                #expect(found.allSatisfy { $0 == expected }, "\(hashes) hashes")
            }
        }
    }
}
