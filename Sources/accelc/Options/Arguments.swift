import AccelByteIO

/// A command line that is valid for its command's tables: every name is known, every value has its kind, and nothing
/// required is missing.
struct Arguments: Sendable {
    let command: any Command.Type
    private var values: [String: [String]] = [:]
    private var words: [String] = []

    /// - Parameter line: the words after the command's name: `--name value`, `--name=value`, `-o value`, with
    ///   positionals in between; after `--` only positionals.
    /// - Throws: `RequestError`; `ReportedErrors` for several mistakes.
    init(_ line: [String], for command: any Command.Type) throws {
        self.command = command
        var rest = line[...]
        var mistakes = Mistakes()
        while let word = rest.popFirst() {
            if word == "--" {
                words += rest
                break
            }
            if word.hasPrefix("-"), word != "-" {
                try mistakes.collecting { try readOption(word, &rest) }
            } else {
                words.append(word)
            }
        }
        // The value of an option that is not known would look like a positional, and a word too many may be an option's that is needed.
        try mistakes.check()
        try rejectSurplus()
        try mistakes.collecting { try checkPositionals() }
        for option in command.allOptions { try mistakes.collecting { try check(option) } }
        try mistakes.check()
    }

    /// The last value on the command line, the default, or the value that other words imply; nil if there is none.
    subscript(option: Option) -> String? { values[option.name]?.last ?? option.defaultValue ?? option.implied?(self) }

    /// Every value of a repeatable option, in order.
    func all(_ option: Option) -> [String] { values[option.name] ?? option.defaultValue.map { [$0] } ?? [] }

    /// Returns whether an option is on the command line.
    func has(_ option: Option) -> Bool { values[option.name] != nil }

    func integer(_ option: Option) -> Int? { self[option].flatMap { Int($0) } }

    /// Returns the value of an option that is a time, in seconds.
    func seconds(_ option: Option) -> Double? { self[option].flatMap { Double($0) } }

    /// Thirty years: clocks do not support longer times.
    private static let longestSeconds = 1e9

    /// Returns the value of an option that the table requires.
    func required(_ option: Option) throws -> String {
        guard let value = self[option] else { throw usage("needs \(option.usage)") }
        return value
    }

    /// Returns the words of a positional: one, or all remaining words if it is repeatable.
    func all(_ positional: Positional) -> [String] {
        guard let index = command.positionals.firstIndex(where: { $0.name == positional.name }), index < words.count
        else {
            return []
        }
        return positional.isRepeatable ? Array(words[index...]) : [words[index]]
    }

    subscript(positional: Positional) -> String? { all(positional).first }

    func required(_ positional: Positional) throws -> String {
        guard let word = self[positional] else { throw usage("needs \(positional.name): \(positional.summary)") }
        return word
    }

    /// Rejects options that would have no effect.
    /// - Parameter reason: the words before "and --NAME is for THINGS only".
    func reject(_ options: [Option], _ reason: String, for things: String) throws {
        for option in options where has(option) {
            throw RequestError("\(reason), and --\(option.name) is for \(things) only")
        }
    }

    /// Returns an error about this command line.
    /// - Parameter nearest: the suggestion of "did you mean"; nil for none.
    func usage(_ sentence: String, nearest: String? = nil) -> RequestError {
        let hint = nearest.map { "did you mean \($0)?" } ?? "see \"accelc \(command.name) --help\""
        return RequestError("\(command.name) \(sentence); \(hint)")
    }

    /// Returns whether words ask for a JSON document, valid or not.
    static func asksForJSON(_ line: [String]) -> Bool {
        line.prefix { $0 != "--" }.contains("--\(CommonOptions.json.name)")
    }

    /// Returns the help page that words ask for; nil if they ask for none.
    static func helpPage(_ line: [String], of command: any Command.Type) -> String? {
        let words = line.prefix { $0 != "--" }
        if words.contains("--help-all") { return HelpPage.fullPage(of: command) }
        return words.contains { $0 == "--help" || $0 == "-h" } ? HelpPage.page(of: command) : nil
    }
}

// Reading and checking
extension Arguments {
    /// Whether a word is an option, known or not, and no value that begins with a dash.
    private func isOption(_ word: String) -> Bool {
        word.hasPrefix("--") || command.allOptions.contains { option in option.short.map { "-\($0)" } == word }
    }

    private mutating func readOption(_ word: String, _ rest: inout ArraySlice<String>) throws {
        let option: Option
        var value: String?
        if word.hasPrefix("--") {
            let sides = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            option = try find(String(sides[0]))
            value = sides.count == 2 ? String(sides[1]) : nil
        } else {
            guard word.count == 2, let found = command.allOptions.first(where: { $0.short == word.last }) else {
                throw unknown(word, named: String(word.drop { $0 == "-" }.prefix { $0 != "=" }))
            }
            option = found
        }
        if case .flag = option.kind {
            guard value == nil else { throw usage("takes --\(option.name) without a value") }
            value = ""
        } else if value == nil {
            guard let next = rest.first, next == "-" || !next.hasPrefix("-") || Int(next) != nil else {
                if let next = rest.first, !isOption(next) { rest.removeFirst() }
                throw usage("needs a value after \(word): \(option.usage)")
            }
            value = next
            rest.removeFirst()
        }
        guard let value else { return }
        let checked = try check(value, for: option)
        if case .flag = option.kind {
            values[option.name] = [value]
            return
        }
        if !option.isRepeatable, values[option.name] != nil { throw usage("takes --\(option.name) once") }
        values[option.name, default: []].append(checked)
    }

    private func find(_ name: String) throws -> Option {
        if let option = command.allOptions.first(where: { $0.name == name }) { return option }
        throw unknown("--\(name)", named: name)
    }

    private func unknown(_ word: String, named name: String) -> RequestError {
        usage(
            "has no option \(word)",
            nearest: nearestName(to: name, among: command.allOptions.map(\.name)).map { "--\($0)" })
    }

    /// Checks a value, and returns it as the table spells it.
    private func check(_ value: String, for option: Option) throws -> String {
        switch option.kind {
        case .flag: break
        case .text, .input, .output, .location:
            if value.isEmpty { throw usage("needs a value that is not empty for \(option.usage)") }
            if case .output = option.kind, value == "-" {
                throw usage("writes \(option.usage) to a path, and never to standard output: name one")
            }
        case .integer(let range):
            guard let number = Int(value), range.contains(number) else {
                let bounds =
                    range.upperBound == .max ? "from \(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
                throw usage("takes a whole number (\(bounds)) for --\(option.name), found \"\(value)\"")
            }
        case .seconds:
            guard let number = Double(value), number > 0, number <= Self.longestSeconds else {
                throw usage("takes a number of seconds above 0 for --\(option.name), found \"\(value)\"")
            }
        case .decimal(let range):
            guard let number = Double(value), range.contains(number) else {
                throw usage(
                    "takes a number from \(Text.number(range.lowerBound)) to \(Text.number(range.upperBound)) for "
                        + "--\(option.name), found \"\(value)\"")
            }
        case .words(let words):
            if words.contains(value) { break }
            let alike = words.filter { $0.lowercased() == value.lowercased() }
            guard alike.count == 1 else {
                throw usage(
                    "takes \(words.joined(separator: ", ")) for --\(option.name), found \"\(value)\"",
                    nearest: nearestName(to: value, among: words))
            }
            return alike[0]
        }
        return value
    }

    private func checkPositionals() throws {
        for (index, positional) in command.positionals.enumerated() where positional.isRequired && index >= words.count
        {
            throw usage("needs \(positional.name): \(positional.summary)")
        }
        for (positional, word) in zip(command.positionals, words) {
            if word.isEmpty { throw usage("needs a \(positional.name) that is not empty") }
            if case .words(let allowed) = positional.kind, !allowed.contains(word) {
                throw usage(
                    "takes \(allowed.joined(separator: ", ")), found \"\(word)\"",
                    nearest: nearestName(to: word, among: allowed))
            }
        }
    }

    private func rejectSurplus() throws {
        guard words.count > command.positionals.count, command.positionals.last?.isRepeatable != true else { return }
        throw usage("does not expect \"\(words[command.positionals.count])\"")
    }

    private func check(_ option: Option) throws {
        if option.isRequired, !has(option) { throw usage("needs \(option.usage): \(option.summary)") }
        for other in option.excludes where has(option) && values[other] != nil {
            throw usage("takes --\(option.name) or --\(other), not both")
        }
        if has(option), !option.needs.isEmpty, !option.needs.contains(where: isMet) {
            throw usage("takes --\(option.name) only with \(Text.alternatives(option.needs.map(\.usage)))")
        }
    }

    private func isMet(_ need: Option.Need) -> Bool {
        switch need {
        case .option(let name): values[name] != nil
        case .value(let value, let name): command.allOptions.first { $0.name == name }.flatMap { self[$0] } == value
        case .word(let word): words.contains(word)
        }
    }
}
