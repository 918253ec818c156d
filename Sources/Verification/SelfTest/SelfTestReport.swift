public import ByteIO

/// Which faults were injected, and which stages noticed.
public struct SelfTestReport: Sendable {
    public struct Trial: Sendable {
        public let fault: String
        public let detail: String
        /// The weight with its codec, or the function.
        public let target: String
        /// The stage that has to catch it; nil for the control, which none may object to.
        public let claimed: Stage?
        /// What each stage objected to; nil when the fault does not apply to the target.
        public let caught: [Stage: String]?

        public enum Outcome: String, Sendable {
            case caught
            case missed
            case notApplicable = "not applicable"
            /// The control: nothing is wrong and nothing is said.
            case quiet
            /// The control: something is said though nothing is wrong.
            case falseAlarm = "false alarm"
        }

        public var outcome: Outcome {
            guard let caught else { return .notApplicable }
            guard let claimed else { return caught.isEmpty ? .quiet : .falseAlarm }
            return caught[claimed] == nil ? .missed : .caught
        }
    }

    public let seed: UInt64
    public let trials: [Trial]

    /// Faults that their stage did not catch, and false alarms.
    public var failures: [Trial] { trials.filter { $0.outcome == .missed || $0.outcome == .falseAlarm } }

    /// 1 for a fault that was not caught or a false alarm, 3 when no fault applied at all.
    public var exitStatus: ExitStatus {
        if !failures.isEmpty { return .exceeded }
        return trials.contains { $0.outcome == .caught } ? .success : .unavailable
    }

    public var headline: String {
        let caught = trials.count { $0.outcome == .caught }
        let skipped = trials.count { $0.outcome == .notApplicable }
        let tail = skipped == 0 ? "" : ", \(skipped) not applicable here"
        if !failures.isEmpty {
            return
                "self test failed: \(Figure.plural(failures.count, "fault")) not noticed or false alarms, \(caught) caught\(tail)"
        }
        return "self test passed: \(Figure.plural(caught, "fault")) injected, \(caught) caught\(tail)"
    }

    private static let columns: [Stage] = [.weights, .operators, .graph]

    private func cell(_ trial: Trial, _ stage: Stage) -> String {
        guard let caught = trial.caught else { return "" }
        return caught[stage] == nil ? (trial.claimed == stage ? "MISSED" : "-") : "caught"
    }

    /// The detection matrix for a terminal.
    public func terminal(width: Int = 100, colour: Bool = false) -> String {
        let style = TerminalStyle(isOn: colour)
        var table = TextTable(
            [.init("injected into"), .init("fault"), .init("must catch")]
                + Self.columns.map { .init("\($0.code) \($0.title)") }
                + [.init("outcome")])
        for trial in trials {
            table.add(
                [trial.target.isEmpty ? "the package" : trial.target, trial.fault, trial.claimed?.code ?? "none"]
                    + Self.columns.map { cell(trial, $0) } + [trial.outcome.rawValue])
        }
        let lines = table.lines(width: max(60, width))
        let coloured = lines.enumerated().map { index, line in
            let isBad =
                index > 0
                && failures.contains { trials[index - 1].fault == $0.fault && trials[index - 1].target == $0.target }
            return isBad ? style.bad(line) : line
        }
        let last = exitStatus == .success ? style.good(headline) : style.bad(headline)
        return ([style.strong("detection matrix (inputs: seed \(seed))")] + coloured + ["", last]).joined(
            separator: "\n") + "\n"
    }

    public var json: JSON {
        [
            "headline": .string(headline),
            "exitStatus": .integer(Int64(exitStatus.rawValue)),
            "seed": .string(String(seed)),
            "trials": .array(
                trials.map { trial in
                    [
                        "fault": .string(trial.fault), "detail": .string(trial.detail), "target": .string(trial.target),
                        "claimed": trial.claimed.map { .string($0.code) } ?? .null,
                        "outcome": .string(trial.outcome.rawValue),
                        "caught": .object(
                            (trial.caught ?? [:]).sorted { $0.key < $1.key }.map {
                                .init($0.key.code, .string($0.value))
                            }),
                    ]
                }),
        ]
    }
}
