public import AccelByteIO

/// The injected faults, and the stages that caught them.
public struct SelfTestReport: Sendable {
    /// One fault injected into one weight or function, or a control without a fault.
    public struct Trial: Sendable {
        /// The name of the fault.
        public let fault: String
        /// A description of the change that was made.
        public let detail: String
        /// The weight with its codec, or the function's name.
        public let target: String
        /// The stage that has to catch the fault; nil for the control, which must pass all stages.
        public let claimed: Stage?
        /// The stages that ran.
        public let stages: [Stage]
        /// The failure that each stage reported; nil if the fault does not apply to the target.
        public let caught: [Stage: String]?

        /// The result of a trial.
        public enum Outcome: String, Sendable {
            /// The claimed stage reported the fault.
            case caught
            /// The claimed stage did not report the fault.
            case missed
            /// The fault cannot be injected into the target.
            case notApplicable = "not applicable"
            /// The control passed: no fault was injected and no stage failed.
            case quiet
            /// The control failed: a stage reported a failure although no fault was injected.
            case falseAlarm = "false alarm"
        }

        /// The result, from the claimed stage and the stages that reported a failure.
        public var outcome: Outcome {
            guard let caught else { return .notApplicable }
            guard let claimed else { return caught.isEmpty ? .quiet : .falseAlarm }
            return caught[claimed] == nil ? .missed : .caught
        }

        /// The outcome is `missed` or `falseAlarm`.
        public var isFailure: Bool { outcome == .missed || outcome == .falseAlarm }
    }

    /// The seed of the drawn inputs.
    public let seed: UInt64
    /// All trials, controls included.
    public let trials: [Trial]

    /// Faults that their stage did not catch, and false alarms.
    public var failures: [Trial] { trials.filter(\.isFailure) }

    /// 0 if passed, 1 for a missed fault or a false alarm, 3 if no fault was applicable.
    public var exitStatus: ExitStatus {
        if !failures.isEmpty { return .exceeded }
        return trials.contains { $0.outcome == .caught } ? .success : .unavailable
    }

    /// The result in one sentence.
    public var headline: String {
        let caught = trials.count { $0.outcome == .caught }
        let skipped = trials.count { $0.outcome == .notApplicable }
        let tail = skipped == 0 ? "" : ", \(skipped) not applicable here"
        if !failures.isEmpty {
            return
                "self test failed: \(Wording.count(failures.count, "fault")) not noticed or false alarms, \(caught) caught\(tail)"
        }
        return "self test passed: \(Wording.count(caught, "fault")) injected, \(caught) caught\(tail)"
    }

    /// Returns the detection matrix for a terminal: a table for each weight or function with injected faults. An empty
    /// cell marks a stage that did not run.
    public func terminal(width: Int = 100, colour: Bool = false) -> String {
        let style = TerminalStyle(isOn: colour)
        var lines = [style.strong("self test: what notices which fault (inputs: seed \(seed))")]
        for target in targets {
            let group = trials.filter { $0.target == target }
            let stages = Stage.allCases.filter { stage in group.contains { $0.stages.contains(stage) } }
            var table = TextTable(
                [.init("fault"), .init("must catch")] + stages.map { .init("\($0.code) \($0.title)") } + [
                    .init("outcome")
                ])
            for trial in group {
                table.add(
                    [trial.fault, trial.claimed?.code ?? "none"] + stages.map { cell(trial, $0) }
                        + [trial.outcome.rawValue])
            }
            if !target.isEmpty { lines.append("into \(target)") }
            for (index, row) in table.rowLines(width: width).enumerated() {
                lines += index > 0 && group[index - 1].isFailure ? row.map(style.bad) : row
            }
        }
        lines += ["", exitStatus == .success ? style.good(headline) : style.bad(headline)]
        return lines.joined(separator: "\n") + "\n"
    }

    /// The targets in order, each once.
    private var targets: [String] {
        trials.reduce(into: []) { targets, trial in
            if !targets.contains(trial.target) { targets.append(trial.target) }
        }
    }

    private func cell(_ trial: Trial, _ stage: Stage) -> String {
        guard let caught = trial.caught, trial.stages.contains(stage) else { return "" }
        return caught[stage] != nil ? "caught" : trial.claimed == stage ? "MISSED" : "-"
    }

    /// The report as JSON: headline, exit status, seed and trials.
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
