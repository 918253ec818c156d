import Foundation
import TestSupport
import Testing

@testable import AccelByteIO
@testable import accelc

/// With `--json` a program that reads standard output gets one document of every command, however it ends.
@Suite("Errors as documents")
struct ErrorDocumentTests {
    /// Command lines that fail, of every command: an option that nobody has, a wrong value, words too many, and files that are not
    /// there.
    static var lines: [String] {
        var lines = ["--json", "frobnicate --json", "cache frobnicate --json"]
        for command in Commands.all {
            let required = command.options.filter(\.isRequired).map { "--\($0.name) missing" }
            let words = command.positionals.map { positional -> String in
                if case .words(let words) = positional.kind { return words[0] }
                return "missing"
            }
            let line = ([command.name, "--json"] + words + required).joined(separator: " ")
            lines += ["\(command.name) --no-such-option --json", "\(command.name) --json --threads none"]
            lines.append("\(line) one too many")
            let hasInputs = command.positionals.contains { if case .path = $0.kind { $0.isRequired } else { false } }
            if hasInputs { lines.append(line) }
        }
        return lines
    }

    @Test("An error is one JSON document on standard output and text on standard error", arguments: lines)
    func document(_ line: String) throws {
        try withTemporaryFolder { folder in
            let result = try CommandRunner.run(line.split(separator: " ").map(String.init), in: folder)
            #expect(result.status != 0)
            let found = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
            #expect(found?.count == 1)
            let error = try #require(found?["error"] as? [String: Any], "\(result.output)")
            let status = ExitStatus(rawValue: result.status)
            #expect(error["exitStatus"] as? Int == Int(result.status))
            #expect(error["code"] as? String == status?.name)
            let message = try #require(error["message"] as? String)
            let several = (error["errors"] as? [[String: Any]] ?? []).compactMap { $0["message"] as? String }
            if !several.isEmpty { #expect(several.count > 1 && several.joined(separator: "\n") == message) }
            for single in several.isEmpty ? [message] : several {
                #expect(result.errors.contains("accelc: error: \(single)\n"), "\(result.errors)")
            }
        }
    }

    @Test("Without --json, and after --, standard output stays empty")
    func text() throws {
        try withTemporaryFolder { folder in
            for line in ["inspect missing", "inspect -- --json"] {
                let result = try CommandRunner.run(line.split(separator: " ").map(String.init), in: folder)
                #expect(result.status == 3 && result.output.isEmpty, "\(result.output)")
            }
        }
    }

    @Test("The parts of errors are members of their own")
    func parts() {
        let error = FormatError(file: "a", location: .tensor("w", index: 3), reason: "is NaN")
        #expect(
            error.json == [
                "code": "corrupt", "message": "a, tensor \"w\", element 3: is NaN", "file": "a", "tensor": "w",
                "element": 3,
                "reason": "is NaN", "exitStatus": 4,
            ])
        for (location, parts) in [
            (.field("a.b[0]"), ["field": "a.b[0]"]), (.offset(7), ["offset": 7]),
            (.line(3, column: 5), ["line": 3, "column": 5]), (.tensor("w", index: nil), ["tensor": "w"]), (nil, [:]),
        ] as [(FormatError.Location?, JSON)] {
            let error = FormatError(file: "a", location: location, reason: "is bad")
            guard case .object(let members) = parts else { continue }
            for member in members { #expect(error.parts.contains(member), "\(error)") }
            #expect(error.parts.count == members.count + 2)
        }
        #expect(RequestError("no").json == ["code": "usage", "message": "no", "exitStatus": 2])
        #expect(Set(ExitStatus.allCases.map(\.name)).count == ExitStatus.allCases.count)
    }

    @Test("A document is printed once, and not after a result")
    func once() {
        let error = RequestError("no")
        let (first, second, never) = (
            ErrorDocument(isDue: true), ErrorDocument(isDue: true), ErrorDocument(isDue: false)
        )
        #expect(first.take(error)?.contains("\"message\": \"no\"") == true)
        #expect(first.take(error) == nil)
        let (isDue, isDueAgain) = (second.takeTurn(), second.takeTurn())
        #expect(isDue && !isDueAgain && second.take(error) == nil)
        #expect(never.take(error) == nil)
    }

    @Test(
        "An age is a number with a unit",
        arguments: [
            ("0s", 0), ("90", nil), ("0", 0), ("0 apples", nil), ("15m", 900), ("2 h", 7200), ("1d", 86400), ("", nil),
            ("m", nil),
            ("-1s", nil),
        ]
            as [(String, Int?)])
    func ages(_ text: String, _ seconds: Int?) { #expect(Text.parseAge(text) == seconds) }
}
