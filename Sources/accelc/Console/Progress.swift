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
    /// `share` when the bar was drawn.
    private var drawnShare = 0
    /// The cells of a bar where the line has room for all.
    private static let cells = 24

    init(stage: String, total: Int?, style: ProgressStyle, emit: @escaping (String) -> Void) {
        self.stage = stage
        self.total = total
        self.style = style
        self.emit = emit
        if style == .lines { emit("\(stage)\(total.map { " (\($0))" } ?? "") ...\n") }
        if style == .json { emit(document(item: nil, after: 0) + "\n") }
        if style == .bar { draw(item: "") }
    }

    /// Counts one more step; `item` names its subject.
    func step(_ item: String) {
        done += 1
        switch style {
        case .bar: if isDue { draw(item: item) }
        case .lines: emit("  \(stage)\(total.map { " \(done) of \($0)" } ?? ""): \(item)\n")
        case .json: emit(document(item: item, after: done - 1) + "\n")
        case .auto, .none: break
        }
    }

    /// Counts further steps up to a number; `item` names the last one. Nothing happens if they are counted already.
    func reach(_ count: Int, _ item: String) {
        guard count > done else { return }
        done = count - 1
        step(item)
    }

    /// Removes the bar from the screen before other output is printed.
    func clear() {
        if isDrawn { emit("\r\u{1B}[K") }
        isDrawn = false
    }

    func finish() {
        if isFinished { return }
        isFinished = true
        if style == .json { emit(document(item: nil, after: done) + "\n") }
        clear()
    }

    /// Whether a step is drawn: not each of a fast stage, but each that makes the bar longer, so that a burst of steps
    /// shows although a slow one follows.
    private var isDue: Bool {
        share != drawnShare || (lastDrawn.map { $0.duration(to: .now) > .milliseconds(50) } ?? true)
    }

    /// The share that is done, in cells of a whole bar.
    private var share: Int { total.map { $0 > 0 ? min(done, $0) * Self.cells / $0 : 0 } ?? 0 }

    private func draw(item: String) {
        (lastDrawn, drawnShare) = (.now, share)
        isDrawn = true
        // A wrapped line could not be drawn over.
        let columns = (Console.columns(of: .errors) ?? 100) - 1
        let line = total.map { $0 > 0 ? counted(of: $0, item, columns) : "\(stage) \(item)" } ?? "\(stage) \(item)"
        emit("\r\u{1B}[K\(line.prefix(columns))")
    }

    /// Returns a line with the count of steps. Where the line has no room for the whole bar, the bar is shorter; the
    /// count stays.
    private func counted(of total: Int, _ item: String, _ columns: Int) -> String {
        let reached = min(done, total)
        let widest = "\(total)/\(total)".count
        let cells = min(Self.cells, columns - stage.count - widest - 4)
        guard cells >= 4 else { return "\(stage.prefix(columns - widest - 1)) \(reached)/\(total)" }
        let filled = reached * cells / total
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: cells - filled)
        return "\(stage) [\(bar)] \(reached)/\(total) \(item)"
    }

    /// - Parameter done: the number of steps before the item.
    private func document(item: String?, after done: Int) -> String {
        var members: [JSON.Member] = [JSON.Member("stage", .string(stage)), JSON.Member("done", .int(done))]
        if let total { members.append(JSON.Member("total", .int(total))) }
        if let item { members.append(JSON.Member("item", .string(item))) }
        return JSON.object(members).text()
    }
}
