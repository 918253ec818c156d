import AccelByteIO
import AccelPackages
import AccelPlatform
import AccelTensors

/// Where a run prints.
enum StandardStream {
    case output, errors

    /// The descriptors of the streams: those of the process, unless a run within a process has others.
    @TaskLocal static var descriptors: [StandardStream: Int32] = [.output: 1, .errors: 2]

    var descriptor: Int32 { Self.descriptors[self] ?? (self == .output ? 1 : 2) }
}

/// Everything that the tool prints. Results go to standard output; progress, notes, warnings and errors to standard
/// error.
final class Console {
    private(set) var isQuiet = false
    private(set) var isVerbose = false
    private let showsJSON: Bool
    private(set) var threads = Parallel.processorCount
    /// All warnings of the run so far, those that `--quiet` leaves out too, for documents.
    let warnings = Locked<[String]>([])
    let errorDocument: ErrorDocument
    private var progressStyle = ProgressStyle.none
    private var bar: ProgressBar?
    /// Standard output is a terminal that shows colours.
    let hasColours: Bool
    private let errorColours: Bool
    private var outputError: Int32 = 0

    private let (output, errors) = (StandardStream.output.descriptor, StandardStream.errors.descriptor)

    /// Creates the console of a run with the words of its command line.
    init(for words: [String] = []) {
        showsJSON = Arguments.asksForJSON(words)
        errorDocument = ErrorDocument(isDue: showsJSON)
        let allowed = ProcessEnvironment.text("NO_COLOR") == nil && ProcessEnvironment.value("TERM") != "dumb"
        hasColours = allowed && isatty(output) == 1
        errorColours = allowed && isatty(errors) == 1
    }

    /// Applies the common options.
    func configure(_ arguments: Arguments) throws {
        isQuiet = arguments.has(CommonOptions.quiet)
        isVerbose = arguments.has(CommonOptions.verbose)
        threads = arguments.integer(CommonOptions.threads) ?? Parallel.processorCount
        let style = arguments[CommonOptions.progress].flatMap(ProgressStyle.init) ?? .auto
        progressStyle = style.resolved(onTerminal: isatty(errors) == 1, quiet: isQuiet)
    }

    /// Prints one or several lines of the result. On a narrow terminal they break between words.
    func print(_ text: String) {
        bar?.clear()
        emit(Self.wrapped(text, for: .output) + "\n", to: output)
    }

    /// Prints text for other programs, such as a path, whatever the width.
    func print(verbatim text: String) {
        bar?.clear()
        emit(text + "\n", to: output)
    }

    /// The reader of standard output has closed it, or a write has failed: nobody waits for more.
    var isOutputLost: Bool { outputError != 0 }

    /// Prints a piece of a text that goes on, without an end of line.
    func stream(_ piece: String) {
        bar?.clear()
        emit(piece, to: output)
    }

    /// Prints the result as one machine-readable document.
    func print(_ document: JSON) {
        errorDocument.takeTurn()
        bar?.clear()
        emit(document.text(pretty: true), to: output)
    }

    /// Prints a summary of the work, for a result that is a file.
    func summary(_ text: String) {
        if !isQuiet { print(text) }
    }

    /// Prints the result of a command: one document with `--json`, else a summary.
    func result(_ document: @autoclosure () throws -> JSON, _ summary: @autoclosure () throws -> String) rethrows {
        if showsJSON { print(try document()) } else { self.summary(try summary()) }
    }

    /// Reads every byte of a package against its digests.
    func check(_ package: AcceleratorPackage, includesReport: Bool = true) throws {
        let bar = progress("checking", total: package.checkedFileCount)
        try package.check(includesReport: includesReport) { bar.step($0) }
        bar.finish()
    }

    /// Prints a remark that is not part of the result.
    func note(_ text: String) {
        if isQuiet { return }
        bar?.clear()
        emit(line(text), to: errors)
    }

    /// Prints a remark about normal behaviour, with `--verbose` only.
    func detail(_ sentence: String) {
        if isVerbose { note(sentence) }
    }

    func warning(_ sentence: String) {
        warnings.withLock { $0.append(sentence) }
        if isQuiet { return }
        bar?.clear()
        emit(line("accelc: \(paint("warning:", .yellow)) \(Text.line(sentence))"), to: errors)
    }

    func warning(_ diagnostic: Diagnostic) { warning(Remedies.sentence(diagnostic)) }

    /// Returns a function that prints a warning, for code that may run on any thread.
    func warner() -> @Sendable (Diagnostic) -> Void {
        { [warnings, isQuiet, errors] diagnostic in
            let sentence = Remedies.sentence(diagnostic)
            warnings.withLock { $0.append(sentence) }
            if isQuiet { return }
            let clear = isatty(errors) == 1 ? "\r\u{1B}[K" : ""
            var line = clear + Self.wrapped("accelc: warning: \(sentence)", for: .errors) + "\n"
            line.withUTF8 { _ = write(errors, $0.baseAddress, $0.count) }
        }
    }

    /// Returns a function that shows one line in place of the one before, on a terminal only, for any thread.
    func liveLine() -> @Sendable (String) -> Void {
        let (isShown, errors) = (progressStyle == .bar, errors)
        return { text in
            guard isShown else { return }
            let columns = (Self.columns(of: .errors) ?? 100) - 1
            var line = "\r\u{1B}[K\(text.prefix(columns))"
            line.withUTF8 { _ = write(errors, $0.baseAddress, $0.count) }
        }
    }

    func error(_ sentence: String) {
        bar?.clear()
        emit(line("accelc: \(paint("error:", .red)) \(Text.line(sentence))"), to: errors)
    }

    /// Prints an error that ends the run: a sentence, or one for each of several, and with `--json` also a document on standard
    /// output.
    func report(_ error: any ReportedError) {
        for single in error.singles { self.error(Remedies.sentence(single.diagnostic)) }
        errorDocument.take(error).map { emit($0, to: output) }
    }

    /// Starts a stage of work, and returns the bar that shows its progress.
    func progress(_ stage: String, total: Int? = nil) -> ProgressBar {
        bar?.finish()
        let bar = ProgressBar(stage: stage, total: total, style: progressStyle) { [unowned self] in
            emit($0, to: errors)
        }
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
    static func columns(of stream: StandardStream) -> Int? {
        if let asked = ProcessEnvironment.value("COLUMNS").flatMap({ Int($0) }), asked > 0 { return max(asked, 20) }
        var size = winsize()
        guard ioctl(stream.descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return max(Int(size.ws_col), 20)
    }

    private func line(_ text: String) -> String { Self.wrapped(text, for: .errors) + "\n" }

    /// Returns the text with lines that break between words at the columns of a stream.
    static func wrapped(_ text: String, for stream: StandardStream) -> String {
        columns(of: stream).map { TextLayout.wrappedLines(text, width: $0) } ?? text
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
        if descriptor == output, outputError != 0 { return }
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    if descriptor == output { outputError = errno }
                    return
                }
                rest = rest.dropFirst(count)
            }
        }
    }
}
