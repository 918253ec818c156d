/// One row of a command's option table. The table drives parsing, help, completions, and errors.
struct Option: Sendable {
    /// What follows the name.
    enum Kind: Sendable {
        /// Nothing: it is given or not.
        case flag
        /// Any text; the word stands for it in help.
        case text(String)
        /// A path; the word stands for it in help.
        case file(String)
        case folder(String)
        case integer(ClosedRange<Int>)
        /// A time: a decimal number above zero.
        case seconds
        case words([String])
    }

    /// Without dashes.
    let name: String
    let kind: Kind
    let help: String
    /// A single letter that stands for the name, as in `-o`.
    let short: Character?
    let defaultValue: String?
    let isRequired: Bool
    /// May be given several times.
    let isRepeatable: Bool
    /// What a conversion makes depends on it: such an option, and no other, goes into the cache's key.
    let affectsOutput: Bool
    /// Names of options that cannot be given together with this one.
    let excludes: [String]

    init(
        _ name: String, _ kind: Kind, _ help: String, short: Character? = nil, default value: String? = nil,
        isRequired: Bool = false, isRepeatable: Bool = false, affectsOutput: Bool = false, excludes: [String] = []
    ) {
        self.name = name
        self.kind = kind
        self.help = help
        self.short = short
        self.defaultValue = value
        self.isRequired = isRequired
        self.isRepeatable = isRepeatable
        self.affectsOutput = affectsOutput
        self.excludes = excludes
    }

    /// What stands for its value in help; nil for a flag.
    var placeholder: String? {
        switch kind {
        case .flag: nil
        case .text(let word), .file(let word), .folder(let word): word
        case .integer: "N"
        case .seconds: "SECONDS"
        case .words(let words): words.joined(separator: "|")
        }
    }

    /// As help and errors write it, e.g. `-o OUT` or `--shape DIM=N,..`.
    var usage: String {
        let spelling = short.map { "-\($0)" } ?? "--\(name)"
        return placeholder.map { "\(spelling) \($0)" } ?? spelling
    }
}

/// Something that stands on the command line without a dash.
struct Positional: Sendable {
    enum Kind: Sendable {
        case path
        case text
        case words([String])
    }
    /// In capitals, as help prints it.
    let name: String
    let kind: Kind
    let help: String
    let isRequired: Bool
    let isRepeatable: Bool

    init(_ name: String, _ help: String, kind: Kind = .path, isRequired: Bool = true, isRepeatable: Bool = false) {
        self.name = name
        self.kind = kind
        self.help = help
        self.isRequired = isRequired
        self.isRepeatable = isRepeatable
    }

    /// As a usage line writes it.
    var usage: String {
        let word = isRepeatable ? "\(name)..." : name
        return isRequired ? word : "[\(word)]"
    }
}
