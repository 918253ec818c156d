import AccelByteIO

/// The style of progress, by its name for `--progress`.
enum ProgressStyle: String, CaseIterable {
    case auto, bar, lines, json, none

    /// Returns the style with `auto` resolved. A bar needs a terminal.
    func resolved(onTerminal: Bool, quiet: Bool) -> ProgressStyle {
        switch self {
        case .auto, .bar: onTerminal && !quiet ? .bar : .none
        case .lines: quiet ? .none : .lines
        case .json, .none: self
        }
    }
}

/// The progress of one stage of work, counted in steps.
final class ProgressBar {
    private let stage: String
    private let total: Int?
    private let style: ProgressStyle
    private let emit: (String) -> Void
    private var done = 0
    private var isDrawn = false
    private var isFinished = false
    private var lastDrawn: ContinuousClock.Instant?

    init(stage: String, total: Int?, style: ProgressStyle, emit: @escaping (String) -> Void) {
        self.stage = stage
        self.total = total
        self.style = style
        self.emit = emit
        if style == .lines { emit("\(stage)\(total.map { " (\($0))" } ?? "") ...\n") }
        if style == .json { emit(document(item: nil) + "\n") }
        if style == .bar { draw(item: "") }
    }

    /// Counts one more step; `item` names its subject.
    func step(_ item: String) {
        switch style {
        case .bar: if lastDrawn.map({ $0.duration(to: .now) > .milliseconds(50) }) ?? true { draw(item: item) }
        case .lines: emit("  \(stage)\(total.map { " \(done + 1) of \($0)" } ?? ""): \(item)\n")
        case .json: emit(document(item: item) + "\n")
        case .auto, .none: break
        }
        done += 1
    }

    /// Removes the bar from the screen before other output is printed.
    func clear() {
        if isDrawn { emit("\r\u{1B}[K") }
        isDrawn = false
    }

    func finish() {
        if isFinished { return }
        isFinished = true
        clear()
    }

    private func draw(item: String) {
        lastDrawn = .now
        isDrawn = true
        guard let total, total > 0 else { return drawLine("\(stage) \(item)") }
        let filled = min(done, total) * 24 / total
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 24 - filled)
        drawLine("\(stage) [\(bar)] \(min(done, total))/\(total) \(item)")
    }

    /// Draws a line, cut to the terminal's width because a wrapped line could not be drawn over.
    private func drawLine(_ text: String) { emit("\r\u{1B}[K\(text.prefix((Console.columns(of: 2) ?? 100) - 1))") }

    private func document(item: String?) -> String {
        var members: [JSON.Member] = [JSON.Member("stage", .string(stage)), JSON.Member("done", .integer(Int64(done)))]
        if let total { members.append(JSON.Member("total", .integer(Int64(total)))) }
        if let item { members.append(JSON.Member("item", .string(item))) }
        return JSON.object(members).text()
    }
}
