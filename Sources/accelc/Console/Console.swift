import AccelByteIO
import AccelPlatform
import AccelTensors

/// Everything that the tool prints. Results go to standard output; progress, notes, warnings and errors to standard
/// error.
final class Console {
    private(set) var isQuiet = false
    private(set) var isVerbose = false
    private(set) var threads = Parallel.processorCount
    private var progressStyle = ProgressStyle.none
    private var bar: ProgressBar?
    /// Standard output is a terminal that shows colours.
    let hasColours: Bool
    private let errorColours: Bool
    private var outputError: Int32 = 0

    init() {
        let allowed = ProcessEnvironment.text("NO_COLOR") == nil && ProcessEnvironment.value("TERM") != "dumb"
        hasColours = allowed && isatty(1) == 1
        errorColours = allowed && isatty(2) == 1
    }

    /// Applies the common options.
    func configure(_ arguments: Arguments) throws {
        isQuiet = arguments.has(CommonOptions.quiet)
        isVerbose = arguments.has(CommonOptions.verbose)
        threads = arguments.integer(CommonOptions.threads) ?? Parallel.processorCount
        let style = arguments[CommonOptions.progress].flatMap(ProgressStyle.init) ?? .auto
        progressStyle = style.resolved(onTerminal: isatty(2) == 1, quiet: isQuiet)
    }

    /// Prints one or several lines of the result. On a narrow terminal they break between words.
    func print(_ text: String) {
        bar?.clear()
        emit(Self.wrapped(text, for: 1) + "\n", to: 1)
    }

    /// Prints text for other programs, such as a path, whatever the width.
    func print(verbatim text: String) {
        bar?.clear()
        emit(text + "\n", to: 1)
    }

    /// Prints the result as one machine-readable document.
    func print(_ document: JSON) {
        ErrorDocument.takeTurn()
        bar?.clear()
        emit(document.text(pretty: true), to: 1)
    }

    /// Prints a summary of the work, for a result that is a file.
    func summary(_ text: String) {
        if !isQuiet { print(text) }
    }

    /// Prints a remark that is not part of the result.
    func note(_ text: String) {
        if isQuiet { return }
        bar?.clear()
        emit(Self.wrapped(text, for: 2) + "\n", to: 2)
    }

    /// Prints a remark about normal behaviour, with `--verbose` only.
    func detail(_ sentence: String) {
        if isVerbose { note(sentence) }
    }

    /// All warnings of the run so far, those that `--quiet` leaves out too, for documents.
    static let warnings = Locked<[String]>([])

    func warning(_ sentence: String) {
        Self.warnings.withLock { $0.append(sentence) }
        if isQuiet { return }
        bar?.clear()
        emit(Self.wrapped("accelc: \(paint("warning:", .yellow)) \(Text.line(sentence))", for: 2) + "\n", to: 2)
    }

    /// Prints a warning from code that may run on any thread.
    static func warn(_ sentence: String, isQuiet: Bool = false) {
        warnings.withLock { $0.append(sentence) }
        if isQuiet { return }
        let clear = isatty(2) == 1 ? "\r\u{1B}[K" : ""
        var line = clear + wrapped("accelc: warning: \(sentence)", for: 2) + "\n"
        line.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
    }

    func error(_ sentence: String) {
        bar?.clear()
        emit(Self.wrapped("accelc: \(paint("error:", .red)) \(Text.line(sentence))", for: 2) + "\n", to: 2)
    }

    /// Prints an error that ends the run: a sentence, or one for each of several, and with `--json` also a document on standard
    /// output.
    func report(_ error: any ReportedError) {
        for single in error.singles { self.error(single.description) }
        ErrorDocument.take(error).map { emit($0, to: 1) }
    }

    /// Starts a stage of work, and returns the bar that shows its progress.
    func progress(_ stage: String, total: Int? = nil) -> ProgressBar {
        bar?.finish()
        let bar = ProgressBar(stage: stage, total: total, style: progressStyle) { [unowned self] in emit($0, to: 2) }
        self.bar = bar
        return bar
    }

    /// Ends printing.
    /// - Returns: `status`, or another one when the result could not be written.
    func finish(_ status: ExitStatus) -> ExitStatus {
        bar?.finish()
        guard outputError != 0, outputError != EPIPE, status == .success else { return status }
        error("cannot write to standard output: \(String(cString: strerror(outputError)))")
        return .unavailable
    }

    /// Returns the most columns of a line on a stream: those that `COLUMNS` asks for, or those of its terminal. Nil for
    /// a stream that is no terminal: its lines are as long as they have to be.
    static func columns(of descriptor: Int32) -> Int? {
        if let asked = ProcessEnvironment.value("COLUMNS").flatMap({ Int($0) }), asked > 0 { return max(asked, 20) }
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return max(Int(size.ws_col), 20)
    }

    /// Returns the text with lines that break between words at the columns of a stream.
    static func wrapped(_ text: String, for descriptor: Int32) -> String {
        columns(of: descriptor).map { TextLayout.wrappedLines(text, width: $0) } ?? text
    }

    private enum Colour: Int {
        case red = 31
        case yellow = 33
    }

    private func paint(_ text: String, _ colour: Colour) -> String {
        errorColours ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Writes all of `text`. After a failed write the rest is dropped; `finish` reports the error, unless the reader of
    /// standard output has closed it.
    private func emit(_ text: String, to descriptor: Int32) {
        if descriptor == 1, outputError != 0 { return }
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    if descriptor == 1 { outputError = errno }
                    return
                }
                rest = rest.dropFirst(count)
            }
        }
    }
}
