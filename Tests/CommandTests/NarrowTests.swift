import Foundation
import TestSupport
import Testing

/// What is printed for a terminal of 40 columns.
@Suite("Narrow terminals")
struct NarrowTests {
    /// Commands by their words; `bert` and `p.accelpkg` are there.
    static let lines = [
        "families", "formats", "help", "cache --help", "inspect bert", "inspect bert --tensors",
        "inspect p.accelpkg --tensors",
        "verify p.accelpkg --against bert", "run p.accelpkg --inputs bert/golden.safetensors --profile",
        "convert bert --shape batch=1 -o q.accelpkg", "inspect bert --shape frames=3", "diff p.accelpkg q.accelpkg",
    ]

    @Test("Lines keep to 40 columns, and nothing breaks inside words", arguments: lines)
    func words(_ line: String) throws {
        try withTemporaryFolder { folder in
            try FileManager.default.copyItem(atPath: Fixtures.path("bert_base"), toPath: "\(folder)/bert")
            for (name, scheme) in [("p", "float16"), ("q", "int8")] {
                let words = [
                    "convert", "bert", "--shape-from", "bert/golden.safetensors", "--compress", scheme, "-q", "-o",
                    "\(name).accelpkg",
                ]
                #expect(try CommandRunner.run(words, in: folder).status == 0)
            }
            let words = line.split(separator: " ").map(String.init)
            func streams(_ columns: String?) throws -> String {
                let environment = columns.map { ["COLUMNS": $0] } ?? [:]
                let result = try CommandRunner.run(words, in: folder, environment: environment)
                return result.output + result.errors
            }
            let (wide, narrow) = (try streams(nil), try streams("40"))
            #expect(!narrow.isEmpty)
            let known = Set(Self.parts(of: wide))
            for line in narrow.split(separator: "\n") {
                let parts = Self.parts(of: line)
                #expect(line.count <= 40 || parts.count == 1, "\(line)")
                // Times and sizes of memory are not the same twice.
                for part in parts where part.contains(where: \.isLetter) && !part.contains(where: \.isNumber) {
                    #expect(known.contains(part), "\"\(part)\" in \"\(line)\"")
                }
            }
        }
    }

    /// The pieces between which lines may break: at blanks, and before a letter after a mark.
    private static func parts(of text: some StringProtocol) -> [String] {
        text.split { $0 == " " || $0 == "\n" }.flatMap { word in
            // JSON is to be copied.
            word.contains("{\"")
                ? [String(word)]
                : word.reduce(into: [""]) { parts, character in
                    if let last = parts[parts.count - 1].last, "./,:_-+".contains(last), character.isLetter {
                        parts.append("")
                    }
                    parts[parts.count - 1].append(character)
                }
        }.map { $0.trimmingCharacters(in: CharacterSet(charactersIn: ",")) }.filter { !$0.isEmpty }
    }
}
