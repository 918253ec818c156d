import Foundation

/// A command line test read from a text file; `Scripts/README.md` describes the form.
struct CommandScript {
    enum Action {
        case fixture(String, path: String)
        case file(String, text: String)
        case run(Invocation)
        case exists(String, wanted: Bool)
        case same(String, String, wanted: Bool)
        case contains(String, text: String)
        case flip(String, offset: Int)
        case truncate(String, count: Int)
        case link(String, name: String)
        case symbolicLink(String, name: String)
        case write(String, offset: Int, [UInt8])
        case remove(String)
    }

    struct Invocation {
        var words: [String]
        var environment: [String: String] = [:]
        var savedTo: String?
        var exitStatus: Int32 = 0
        /// nil: anything goes.
        var output: [String]?
        var errors: [String]?
    }

    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    let title: String
    /// With the number of the line that asks for it.
    private(set) var actions: [(line: Int, action: Action)] = []

    init(_ text: String) throws {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        title = lines.first { $0.hasPrefix("# ") }.map { String($0.dropFirst(2)) } ?? "untitled"
        for (index, line) in lines.enumerated() where !line.isEmpty && !line.hasPrefix("#") {
            try read(line, number: index + 1)
        }
    }

    private mutating func read(_ line: String, number: Int) throws {
        if let command = line.dropping("$ ") {
            actions.append((number, .run(try Self.invocation(command, number: number))))
        } else if let text = line.dropping("| "), case .file(let path, let before)? = actions.last?.action {
            actions[actions.count - 1].action = .file(path, text: before + text + "\n")
        } else if let status = line.dropping("exit "), let status = Int32(status) {
            try change(number) { $0.exitStatus = status }
        } else if line == "no output" {
            try change(number) { $0.output = [] }
        } else if line == "no errors" {
            try change(number) { $0.errors = [] }
        } else if let text = line.dropping(">") {
            try change(number) { $0.output = ($0.output ?? []) + [text.dropping(" ") ?? text] }
        } else if let text = line.dropping("2>") {
            try change(number) { $0.errors = ($0.errors ?? []) + [text.dropping(" ") ?? text] }
        } else if line == "error" || line.hasPrefix("error ") {
            let facts = try Self.split(String(line.dropFirst("error".count)), number: number)
            let pattern = (["accelc: error: "] + facts + [""]).joined(separator: "...")
            try change(number) { $0.errors = ($0.errors ?? []) + [pattern] }
        } else {
            let wanted = !line.hasPrefix("! ")
            let words = (wanted ? line : String(line.dropFirst(2))).split(separator: " ").map(String.init)
            actions.append((number, try Self.action(words, wanted: wanted, line: line, number: number)))
        }
    }

    private static func action(_ words: [String], wanted: Bool, line: String, number: Int) throws -> Action {
        switch (words.first, words.count) {
        case ("fixture", 2): return .fixture(words[1], path: words[1])
        case ("fixture", 4) where words[2] == "as": return .fixture(words[1], path: words[3])
        case ("file", 2): return .file(words[1], text: "")
        case ("exists", 2): return .exists(words[1], wanted: wanted)
        case ("same", 3): return .same(words[1], words[2], wanted: wanted)
        case ("contains", 3...): return .contains(words[1], text: words[2...].joined(separator: " "))
        case ("remove", 2): return .remove(words[1])
        case ("flip", 3): if let offset = Int(words[2]) { return .flip(words[1], offset: offset) }
        case ("truncate", 3): if let count = Int(words[2]) { return .truncate(words[1], count: count) }
        case ("link", 3): return .link(words[1], name: words[2])
        case ("symlink", 3): return .symbolicLink(words[1], name: words[2])
        case ("write", 4):
            if let offset = Int(words[2]), let bytes = bytes(words[3]) {
                return .write(words[1], offset: offset, bytes)
            }
        default: break
        }
        throw Problem(description: "line \(number): \"\(line)\" is none of the lines in Scripts/README.md")
    }

    /// Pairs of hexadecimal digits.
    private static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text)
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        return bytes.count * 2 == digits.count ? bytes : nil
    }

    private mutating func change(_ number: Int, _ body: (inout Invocation) -> Void) throws {
        guard case .run(var invocation)? = actions.last?.action else {
            throw Problem(description: "line \(number): there is no command right above")
        }
        body(&invocation)
        actions[actions.count - 1].action = .run(invocation)
    }

    private static func invocation(_ text: String, number: Int) throws -> Invocation {
        var words = try split(text, number: number)
        var invocation = Invocation(words: [])
        while let word = words.first, word != "accelc" {
            let sides = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard sides.count == 2 else {
                throw Problem(description: "line \(number): expected \"accelc\", found \"\(word)\"")
            }
            invocation.environment[sides[0]] = sides[1]
            words.removeFirst()
        }
        if let last = words.last, last.hasPrefix(">"), last.count > 1 {
            invocation.savedTo = String(last.dropFirst())
            words.removeLast()
        }
        invocation.words = Array(words.dropFirst())
        return invocation
    }

    /// Words at spaces; `'` and `"` keep spaces in a word.
    private static func split(_ text: String, number: Int) throws -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in text {
            if let open = quote {
                if character == open { quote = nil } else { word = (word ?? "") + String(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if character == " " {
                word.map { words.append($0) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        guard quote == nil else { throw Problem(description: "line \(number): a quote is left open") }
        word.map { words.append($0) }
        return words
    }
}

extension String {
    fileprivate func dropping(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}

/// Whether `lines` fit `pattern`, where `...` stands for anything within a line, and alone for any number of lines.
func fits(_ lines: ArraySlice<String>, _ pattern: ArraySlice<String>) -> Bool {
    guard let expected = pattern.first else { return lines.isEmpty }
    if expected == "..." {
        return (lines.startIndex...lines.endIndex).contains { fits(lines[$0...], pattern.dropFirst()) }
    }
    guard let line = lines.first, fits(line, expected) else { return false }
    return fits(lines.dropFirst(), pattern.dropFirst())
}

private func fits(_ line: String, _ pattern: String) -> Bool {
    let parts = pattern.components(separatedBy: "...")
    guard parts.count > 1 else { return line == pattern }
    guard line.count >= parts[0].count + parts[parts.count - 1].count, line.hasPrefix(parts[0]),
        line.hasSuffix(parts[parts.count - 1])
    else { return false }
    var rest = line.dropFirst(parts[0].count).dropLast(parts[parts.count - 1].count)
    for part in parts[1..<(parts.count - 1)] where !part.isEmpty {
        guard let range = rest.range(of: part) else { return false }
        rest = rest[range.upperBound...]
    }
    return true
}
