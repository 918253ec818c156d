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

    /// Prints one or several lines of the result.
    func print(_ text: String) {
        bar?.clear()
        emit(text + "\n", to: 1)
    }

    /// Prints the result as one machine-readable document.
    func print(_ document: JSON) {
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
        emit(text + "\n", to: 2)
    }

    /// Prints a remark about normal behaviour, with `--verbose` only.
    func detail(_ sentence: String) {
        if isVerbose { note(sentence) }
    }

    func warning(_ sentence: String) {
        if isQuiet { return }
        bar?.clear()
        emit("accelc: \(paint("warning:", .yellow)) \(Text.line(sentence))\n", to: 2)
    }

    /// Prints a warning from code that may run on any thread.
    static func warn(_ sentence: String) {
        var line = (isatty(2) == 1 ? "\r\u{1B}[K" : "") + "accelc: warning: \(sentence)\n"
        line.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
    }

    func error(_ sentence: String) {
        bar?.clear()
        emit("accelc: \(paint("error:", .red)) \(Text.line(sentence))\n", to: 2)
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

    /// The number of columns of standard output.
    var width: Int { Self.width(of: 1) }

    /// Returns the columns of a stream's terminal, or 100 if it is not a terminal.
    static func width(of descriptor: Int32) -> Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 100 }
        return Int(size.ws_col)
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
