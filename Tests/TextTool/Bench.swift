import AccelByteIO
import AccelText
import Foundation

enum Bench {
    /// Prints the best time of encoding each line of a text, in megabytes a second.
    static func encode(_ tokenizerPath: String, _ textPath: String) throws {
        let tokenizer = try Tokenizer(json: MappedFile(tokenizerPath).bytes, file: tokenizerPath)
        let lines = try MappedFile(textPath).bytes.withBytes { bytes in
            bytes.split(separator: 0x0A).map { Array($0) }
        }
        let bytes = lines.reduce(0) { $0 + $1.count }
        for withOffsets in [false, true] {
            var best = Double.infinity
            var tokens = 0
            for _ in 0..<5 {
                tokens = 0
                let clock = ContinuousClock()
                let time = try clock.measure {
                    for line in lines {
                        try line.withUnsafeBufferPointer { line in
                            if withOffsets {
                                tokens += try tokenizer.encoding(ofUTF8: line).ids.count
                            } else {
                                tokens += try tokenizer.encode(utf8: line).count
                            }
                        }
                    }
                }
                best = min(best, seconds(time))
            }
            print("\(withOffsets ? "with offsets" : "ids") \(Double(bytes) / best / 1e6) MB/s, \(tokens) tokens")
        }
    }

    /// Prints the best time of the processor in reading a tokenizer, in milliseconds.
    static func load(_ path: String) throws {
        var best = Double.infinity
        var size = 0
        for _ in 0..<9 {
            let start = clock()
            size = try Tokenizer(json: MappedFile(path).bytes, file: path).vocabularySize
            best = min(best, Double(clock() - start) / Double(CLOCKS_PER_SEC))
        }
        print("\(size) tokens in \(best * 1000) ms")
    }

    static func seconds(_ time: Duration) -> Double {
        Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
    }
}
