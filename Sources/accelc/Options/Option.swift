import AccelByteIO

/// One row of a command's option table. The table drives parsing, help, completions, and errors.
struct Option: Sendable {
    /// What follows the name.
    enum Kind: Sendable {
        /// Nothing: it is given or not.
        case flag
        /// Any text; the word stands for it in help.
        case text(String)
        /// The path, or the name of a model, of something that is read; the word stands for it in help.
        case input(String)
        /// The path of something that is written, and what it may replace. It is decided about before the command begins, and no
        /// other option is for paths that are written.
        case output(String, @Sendable (Arguments) throws -> OutputKind)
        /// A folder that the tool keeps for itself; the word stands for it in help.
        case location(String)
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
    /// What it is where it is not given, as the other words have it; nil for nothing.
    let implied: (@Sendable (Arguments) -> String?)?
    /// Without one of these it would have no effect, and is refused; empty: it needs nothing.
    private(set) var needs: [Need]

    /// Something on the command line that another option needs.
    enum Need: Equatable, Sendable {
        /// An option, without dashes.
        case option(String)
        /// A value of an option, given or by default.
        case value(String, of: String)
        /// A word that stands without a dash.
        case word(String)

        /// As help and errors write it.
        var usage: String {
            switch self {
            case .option(let name): "--\(name)"
            case .value(let value, let name): "--\(name) \(value)"
            case .word(let word): word
            }
        }
    }
    /// Of an option that takes a path: what may stand there. Empty: the command finds out by itself.
    let takes: [PathKind]

    init(
        _ name: String, _ kind: Kind, _ help: String, short: Character? = nil, default value: String? = nil,
        isRequired: Bool = false, isRepeatable: Bool = false, affectsOutput: Bool = false, excludes: [String] = [],
        needs: [Need] = [], takes: [PathKind] = [], implied: (@Sendable (Arguments) -> String?)? = nil
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
        self.takes = takes
        self.implied = implied
        self.needs = needs
    }

    /// The same option in a command where it has an effect with one of these only.
    func needing(_ needs: [Need]) -> Option {
        var option = self
        option.needs = needs
        return option
    }

    /// What stands for its value in help; nil for a flag.
    var placeholder: String? {
        switch kind {
        case .flag: nil
        case .text(let word), .input(let word), .output(let word, _), .location(let word): word
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
        /// The path, or the name of a model, of something that is read.
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
    /// What may stand at the path.
    let takes: [PathKind]

    init(
        _ name: String, _ help: String, kind: Kind = .path, takes: [PathKind] = [], isRequired: Bool = true,
        isRepeatable: Bool = false
    ) {
        self.takes = takes
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
