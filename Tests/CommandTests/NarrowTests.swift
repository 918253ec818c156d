import Foundation
import TestSupport
import Testing

#if os(Linux)
    import Glibc
#endif

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

    private static let models = SharedFolder { folder in
        try FileManager.default.copyItem(atPath: Fixtures.path("bert_base"), toPath: "\(folder)/bert")
        for (name, scheme) in [("p", "float16"), ("q", "int8")] {
            let words = [
                "convert", "bert", "--shape-from", "bert/golden.safetensors", "--compress", scheme, "-q", "-o",
                "\(name).accelpkg",
            ]
            try CommandRunner.succeed(words, in: folder)
        }
    }

    @Test("Lines keep to 40 columns, and nothing breaks inside words", arguments: lines)
    func words(_ line: String) throws {
        try Self.models.withCopy { folder in
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

#if os(Linux)
    extension NarrowTests {
        @Test("A bar on a terminal of 40 columns has its count, which only grows")
        func bar() throws {
            try withTemporaryFolder { folder in
                var terminal: Int32 = -1
                var side: Int32 = -1
                try #require(openpty(&terminal, &side, nil, nil, nil) == 0)
                for descriptor in [terminal, side] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
                let process = CommandRunner.process(
                    ["convert", Fixtures.path("bert_base"), "--shape", "batch=1,sequence=4", "-o", "p.accelpkg"],
                    in: folder, environment: ["COLUMNS": "40"])
                process.standardError = FileHandle(fileDescriptor: side, closeOnDealloc: false)
                process.standardOutput = FileHandle.nullDevice
                try process.run()
                close(side)
                var said: [UInt8] = []
                var piece = [UInt8](repeating: 0, count: 4096)
                // Reading fails once no process has the other side.
                while case let count = read(terminal, &piece, piece.count), count > 0 { said += piece[..<count] }
                close(terminal)
                process.waitUntilExit()
                #expect(process.terminationStatus == 0)

                var last = 0
                let pieces = String(decoding: said, as: UTF8.self).components(separatedBy: "\r\u{1B}[K")
                for line in pieces where line.hasPrefix("compressing") {
                    #expect(line.count < 40, "\(line)")
                    let count = line.split(separator: " ").first { $0.hasSuffix("/39") }
                    let done = try #require(count.flatMap { Int($0.dropLast(3)) }, "\(line)")
                    #expect(done >= last, "\(line)")
                    last = done
                }
                #expect(last == 39)
            }
        }
    }
#endif
