import AccelByteIO
import Foundation
import TestSupport
import Testing

@testable import accelc

@Suite("Option tables")
struct OptionTableTests {
    static let names = Commands.all.map { $0.name }

    private func command(_ name: String) throws -> any accelc.Command.Type { try Commands.named(name) }

    @Test("Commands have names of their own")
    func uniqueCommands() { #expect(Set(Self.names).count == Self.names.count) }

    @Test("Options of a command have names, letters and help of their own", arguments: names)
    func uniqueOptions(_ name: String) throws {
        let options = try command(name).allOptions
        #expect(Set(options.map(\.name)).count == options.count)
        let letters = options.compactMap(\.short)
        #expect(Set(letters).count == letters.count)
        for option in options {
            #expect(!option.help.isEmpty && !option.help.hasSuffix("."), "\(option.name)")
            #expect(
                !option.name.hasPrefix("help") && option.name.allSatisfy { $0.isLowercase || $0 == "-" },
                "\(option.name)")
        }
    }

    @Test("What excludes an option is an option, and defaults are allowed values", arguments: names)
    func soundOptions(_ name: String) throws {
        let options = try command(name).allOptions
        for option in options {
            for other in option.excludes { #expect(options.contains { $0.name == other }, "\(option.name)") }
            guard let value = option.defaultValue else { continue }
            #expect(!option.isRequired, "\(option.name)")
            switch option.kind {
            case .flag: Issue.record("--\(option.name) is a flag with a default")
            case .integer(let range): #expect(Int(value).map(range.contains) == true, "\(option.name)")
            case .seconds: #expect((Double(value) ?? 0) > 0, "\(option.name)")
            case .decimal(let range): #expect(Double(value).map(range.contains) == true, "\(option.name)")
            case .words(let words): #expect(words.contains(value), "\(option.name)")
            case .text, .input, .output, .location: #expect(!value.isEmpty, "\(option.name)")
            }
        }
    }

    @Test("Required words come before optional ones, and only the last repeats", arguments: names)
    func soundPositionals(_ name: String) throws {
        let positionals = try command(name).positionals
        let firstOptional = positionals.firstIndex { !$0.isRequired } ?? positionals.count
        #expect(positionals[firstOptional...].allSatisfy { !$0.isRequired })
        #expect(positionals.dropLast().allSatisfy { !$0.isRepeatable })
    }

    @Test("Examples of help pages are valid command lines of their command", arguments: names)
    func examples(_ name: String) throws {
        let command = try command(name)
        for example in command.examples {
            // A text in quotes is one word.
            let words = example.split(separator: "'", omittingEmptySubsequences: false).enumerated().flatMap {
                index, part in
                index.isMultiple(of: 2) ? part.split(separator: " ").map(String.init) : [String(part)]
            }
            #expect(words.prefix(2) == ["accelc", name])
            _ = try Arguments(Array(words.dropFirst(2)), for: command)
        }
    }

    /// The lines that begin with an option, as they do in the lists of help pages.
    private func listed(_ page: String) -> [String] {
        page.split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^  (?:-\w, |    )--([a-z-]+)/).map { String($0.1) }
        }
    }

    @Test("--help-all lists all options of a command in 100 columns, each in one group", arguments: names)
    func fullPages(_ name: String) throws {
        let command = try command(name)
        let page = HelpPage.fullPage(of: command)
        #expect(listed(page).sorted() == command.allOptions.map(\.name).sorted())
        let groups = HelpPage.groups(of: command)
        #expect(listed(page) == groups.flatMap(\.options).map(\.name))
        for group in groups { #expect(page.contains("\n\(group.group.rawValue):\n")) }
        for positional in command.positionals { #expect(page.contains(positional.name)) }
        for line in page.split(separator: "\n") { #expect(line.count <= HelpPage.width, "\(line)") }
        #expect(HelpPage.overview.contains("  \(name) "))
    }

    @Test("--help lists the common options of a command, at most twelve, and names --help-all", arguments: names)
    func helpPages(_ name: String) throws {
        let command = try command(name)
        let page = HelpPage.page(of: command)
        let common = command.allOptions.filter(\.isCommon).map(\.name)
        #expect(listed(page).sorted() == common.sorted())
        #expect(common.count <= 12)
        #expect(command.allOptions.allSatisfy { $0.isCommon || !$0.isRequired })
        for positional in command.positionals { #expect(page.contains(positional.name)) }
        for line in page.split(separator: "\n") { #expect(line.count <= HelpPage.width, "\(line)") }
        #expect(page.contains("\"accelc \(name) --help-all\" lists all \(command.allOptions.count) options"))
        #expect(command.subjects.isEmpty == command.details.isEmpty)
    }

    @Test("The first sentence of an option's help is one line", arguments: names)
    func shortLines(_ name: String) throws {
        let command = try command(name)
        for option in command.allOptions { #expect(HelpPage.line(option).count <= 72, "\(option.name)") }
        for positional in command.positionals { #expect(positional.summary.count <= 88, "\(positional.name)") }
    }

    @Test("A manual page has all options of a command, and no requests but those of its sections", arguments: names)
    func manualPages(_ name: String) throws {
        let command = try command(name)
        let page = ManPage.page(of: command)
        let title = name.uppercased().replacing("-", with: "\\-")
        #expect(page.hasPrefix(".TH ACCELC\\-\(title) 1 \"\" "))
        for option in command.allOptions {
            let spelling = "--\(option.name)".replacing("-", with: "\\-")
            #expect(page.contains("\\fB\(spelling)\\fR"), "\(option.name)")
        }
        let requests = [".TH", ".nh", ".ad", ".SH", ".TP", ".SS", ".PP", ".nf", ".fi", ".br"]
        for line in page.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(requests.contains(String(line.prefix { $0 != " " })), "\(line)")
        }
        let reference = "accelc-\(name)".replacing("-", with: "\\-")
        #expect(ManPage.overview.contains("\\fB\(reference)\\fR(1)"))
    }

    @Test("Help and the documentation list each exit status, and no other")
    func exitStatuses() throws {
        let article = try String(
            contentsOfFile: "\(Fixtures.repository)/Sources/accelc/accelc.docc/Converting.md", encoding: .utf8)
        let rows = article.split(separator: "\n").compactMap { line in
            line.hasPrefix("| ")
                ? line.split(separator: "|").first.flatMap { Int32($0.trimmingCharacters(in: .whitespaces)) } : nil
        }
        let statuses = ExitStatus.allCases.map(\.rawValue)
        #expect(rows == statuses)
        let list = try #require(HelpPage.overview.components(separatedBy: "Exit status:").last)
        let words = list.split { !$0.isLetter && !$0.isNumber }
        #expect(words.compactMap { Int32($0) } == statuses)
    }

    @Test("Completion scripts know every command and option", arguments: CompletionScript.Shell.allCases)
    func completions(_ shell: CompletionScript.Shell) {
        let script = CompletionScript.script(for: shell)
        for command in Commands.all {
            #expect(script.contains(command.name))
            for option in command.allOptions { #expect(script.contains(option.name), "\(command.name) \(option.name)") }
        }
    }

    @Test(
        "A size is a number with a unit",
        arguments: [
            ("0", 0), ("12", nil), ("12B", 12), ("3kB", 3000), ("500MB", 500_000_000), ("10 gb", 10_000_000_000),
            ("", nil),
            ("MB", nil), ("-1", nil), ("1.5GB", 1_500_000_000), ("1.2.3MB", nil), (".kB", nil),
            ("9999999999999TB", nil), ("5 apples", nil), ("0 apples", nil),
        ] as [(String, Int?)])
    func sizes(_ text: String, _ bytes: Int?) { #expect(Text.parseBytes(text) == bytes) }

    @Test(
        "Byte counts print in the unit that they fill",
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"),
            (12_400_000, "12.4 MB"),
        ])
    func byteCounts(_ count: Int, _ text: String) { #expect(Wording.bytes(count) == text) }
}
