import AccelByteIO

/// One row of a command's option table. The table drives parsing, help, completions, and errors.
struct Option: Sendable {
    /// The purpose of an option. Help lists options below the headings of their groups, in this order.
    enum Group: String, CaseIterable, Sendable {
        case input = "Input"
        case shapes = "Shapes and functions"
        case compression = "Compression"
        case calibration = "Calibration"
        case target = "Target size or accuracy"
        case generation = "Text generation"
        case comparison = "Comparison and limits"
        case execution = "Execution"
        case measurement = "Measurement"
        case format = "Output format"
        case signing = "Signing"
        case output = "Output"
        case cache = "Cache"
        case general = "Every command"
    }

    /// The kind of value that follows the name.
    enum Kind: Sendable {
        /// No value: the option is present or absent.
        case flag
        /// Any text; the word is its placeholder in help.
        case text(String)
        /// The path of an input, or the name of a model; the word is its placeholder in help.
        case input(String)
        /// The path of an output, and the kind of output that it may replace. The path is checked before the command
        /// begins; every written path belongs to an option of this kind.
        case output(String, @Sendable (Arguments) throws -> OutputKind)
        /// A folder that the tool manages itself; the word is its placeholder in help.
        case location(String)
        case integer(ClosedRange<Int>)
        /// A time in seconds: a decimal number above zero.
        case seconds
        case decimal(ClosedRange<Double>)
        case words([String])
    }

    /// The name without dashes.
    let name: String
    let kind: Kind
    let group: Group
    /// Sentences without the last full stop. The first one is short, because `--help` and completions print only that.
    let help: String
    /// Most people need the option: `--help` lists it. `--help-all` lists all options.
    private(set) var isCommon: Bool
    /// A single letter as an abbreviation of the name, as in `-o`.
    let short: Character?
    let defaultValue: String?
    let isRequired: Bool
    /// The option may be given several times.
    let isRepeatable: Bool
    /// The names of options that cannot be combined with this one.
    let excludes: [String]
    /// The value that the rest of the command line implies if the option is absent; nil for none.
    let implied: (@Sendable (Arguments) -> String?)?
    /// The option has no effect, and is rejected, unless one of these is present; empty if it needs nothing.
    private(set) var needs: [Need]

    /// A part of the command line that another option needs.
    enum Need: Equatable, Sendable {
        /// An option, without dashes.
        case option(String)
        /// A value of an option, given or by default.
        case value(String, of: String)
        /// A positional word.
        case word(String)

        /// The spelling in help and errors.
        var usage: String {
            switch self {
            case .option(let name): "--\(name)"
            case .value(let value, let name): "--\(name) \(value)"
            case .word(let word): word
            }
        }
    }
    /// The kinds of files that a path option accepts. If empty, the command checks the path itself.
    let takes: [PathKind]

    init(
        _ name: String, _ kind: Kind, in group: Group, _ help: String, short: Character? = nil,
        default value: String? = nil, isCommon: Bool = false, isRequired: Bool = false, isRepeatable: Bool = false,
        excludes: [String] = [],
        needs: [Need] = [], takes: [PathKind] = [],
        implied: (@Sendable (Arguments) -> String?)? = nil
    ) {
        self.name = name
        self.kind = kind
        self.group = group
        self.help = help
        self.isCommon = isCommon
        self.short = short
        self.defaultValue = value
        self.isRequired = isRequired
        self.isRepeatable = isRepeatable
        self.excludes = excludes
        self.takes = takes
        self.implied = implied
        self.needs = needs
    }

    /// Returns the same option for a command in which it needs one of `needs`.
    /// - Parameter isCommon: most people need the option in that command.
    func needing(_ needs: [Need], isCommon: Bool = false) -> Option {
        var option = self
        (option.needs, option.isCommon) = (needs, isCommon)
        return option
    }

    /// The first sentence of the help.
    var summary: String { Text.firstSentence(of: help) }

    /// The placeholder of the value in help; nil for a flag.
    var placeholder: String? {
        switch kind {
        case .flag: nil
        case .text(let word), .input(let word), .output(let word, _), .location(let word): word
        case .integer: "N"
        case .seconds: "SECONDS"
        case .decimal: "X"
        case .words(let words): words.joined(separator: "|")
        }
    }

    /// The spelling in help and errors, e.g. `-o OUT` or `--shape DIM=N,..`.
    var usage: String {
        let spelling = short.map { "-\($0)" } ?? "--\(name)"
        return placeholder.map { "\(spelling) \($0)" } ?? spelling
    }
}

/// An argument without a dash.
struct Positional: Sendable {
    enum Kind: Sendable {
        /// The path of an input, or the name of a model.
        case path
        case text
        case words([String])
    }
    /// The name in capitals, as in help.
    let name: String
    let kind: Kind
    /// Sentences without the last full stop. The first one is short, because `--help` prints only that.
    let help: String
    let isRequired: Bool
    let isRepeatable: Bool
    /// The kinds of files that the path accepts.
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

    /// The first sentence of the help.
    var summary: String { Text.firstSentence(of: help) }

    /// The spelling in a usage line.
    var usage: String {
        let word = isRepeatable ? "\(name)..." : name
        return isRequired ? word : "[\(word)]"
    }
}
