import AccelText
import TextGoldens

/// Compares tokenizers with what the peer gave.
struct Check {
    let folder: String
    let only: [String]

    func run() throws -> Int32 {
        let lines = try GoldenReader.lines("\(folder)/lines.bin")
        var (compared, different, tokenizers) = (0, 0, 0)
        for sample in try GoldenSample.all(in: folder) where only.isEmpty || only.contains(sample.name) {
            let count = check(sample, lines)
            print("\(sample): \(count) of \(lines.count) lines differ")
            compared += lines.count
            different += count
            tokenizers += 1
        }
        print("\(tokenizers) tokenizers, \(compared) lines x tokenizers compared, \(different) different")
        return different == 0 ? 0 : 1
    }

    /// Returns the number of lines that differ, and prints the first ones.
    private func check(_ sample: GoldenSample, _ lines: [[UInt8]]) -> Int {
        do {
            let differences = try sample.differences(lines)
            for (line, text) in differences.prefix(2) {
                let shown = String(decoding: lines[line], as: UTF8.self).debugDescription.prefix(300)
                print("\(sample), line \(line) \(shown): \(text)")
            }
            return differences.count
        } catch {
            print("\(sample): \(error)")
            return lines.count
        }
    }
}
