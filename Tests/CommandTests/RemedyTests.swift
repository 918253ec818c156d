import AccelByteIO
import AccelFormats
import Foundation
import TestSupport
import Testing

@testable import accelc

/// Libraries report facts; the tool's table alone translates them into options.
@Suite("Remedies")
struct RemedyTests {
    /// The lines of all library modules that are not comments, by file.
    private static func libraries() throws -> [String: [Substring]] {
        try Fixtures.sources().filter { !$0.key.hasPrefix("accelc/") }.mapValues { text in
            text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
        }
    }

    /// Arguments of other programs, and a style sheet.
    private static let others = ["AccelHostTools/", "AccelByteIO/HTML/PageStyle.swift"]

    @Test("No literal of a library names an option of the tool")
    func noOptions() throws {
        let files = try Self.libraries()
        #expect(files.count > 500)
        for (path, lines) in files where !Self.others.contains(where: path.hasPrefix) {
            for line in lines where line.contains(/(^|[ "(])--[a-z]/) { Issue.record("\(path): \(line)") }
        }
    }

    @Test("The table is small")
    func size() { #expect(Remedies.table.count <= 60) }

    @Test("Each remedy is for a code that a library declares and reports")
    func codes() throws {
        let lines = try Self.libraries().values.flatMap(\.self)
        var names: [String: String] = [:]
        for line in lines {
            if let found = line.firstMatch(of: /package static let ([A-Za-z0-9]+): Self = "([a-z0-9-]+)"/) {
                names[String(found.2)] = String(found.1)
            }
        }
        let code = lines.joined(separator: "\n")
        for problem in Remedies.table.keys {
            let name = try #require(names[problem.rawValue], "\(problem.rawValue) is not declared")
            #expect(code.contains(try Regex("\\.\(name)\\b")), "\(problem.rawValue) is not reported")
        }
    }

    @Test("Each option that a remedy names is one of a command")
    func options() {
        let options = Set(Commands.all.flatMap { $0.allOptions.map(\.name) } + ["help", "help-all"])
        let values = Exporters.all.flatMap { exporter in
            exporter.options.map { $0.allowed.isEmpty ? $0.name : "\($0.name)=\($0.allowed[0])" }
        }
        for (problem, remedy) in Remedies.table {
            for diagnostic in [
                Diagnostic("", code: problem, subject: "SUBJECT", candidates: ["NAME"]),
                Diagnostic("", code: problem, candidates: values), Diagnostic("", code: problem),
            ] {
                let text = remedy(diagnostic)
                for found in text.matches(of: /--([a-z-]+)/) {
                    #expect(options.contains(String(found.1)), "\(problem.rawValue): \(text)")
                }
                #expect(!text.hasSuffix("."), "\(text)")
            }
        }
    }
}
