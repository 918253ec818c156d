import Accel
import AccelByteIO
import AccelPrograms
import AccelTensors

/// One sequence of runs on a model that is loaded.
struct SequenceCheck {
    typealias Outputs = [String: HostTensor]
    let model: any LoadedModel
    let subject: ConformanceCase
    let sequence: [ConformanceCase.Run]
    var report: ConformanceReport

    private var middle: Int { sequence.count / 2 }
    private var name: String { "\(subject.name), \(sequence.map(\.function).first ?? "")" }

    mutating func run() throws {
        // Before any other session has run.
        let half = try stateAfter(sequence[..<middle], in: model.makeSession())
        let session = try model.makeSession()
        let made = try Self.results(of: sequence[...], in: session)
        for (index, (run, outputs)) in zip(sequence, made).enumerated() { compare(outputs, run, index) }
        try checkSubsets(made)
        try checkSnapshots(session, made, half)
        try checkSessions(made, half)
        try checkErrors(made)
        try checkCancellation(made)
    }

    private static func results(
        of runs: ArraySlice<ConformanceCase.Run>, in session: any ModelSession
    ) throws -> [Outputs] {
        try runs.map { try session.run($0.function, $0.inputs, outputs: nil).mapValues { HostTensor($0) } }
    }

    /// With the reference meaning and the framework. What runs after others depends on the states that they left.
    private mutating func compare(_ outputs: Outputs, _ run: ConformanceCase.Run, _ index: Int) {
        let what: ConformanceReport.Subject = index == 0 ? .outputs : .states
        let place = "\(subject.name), \(run.function), run \(index)"
        report.check(
            what, Set(outputs.keys) == Set(run.expected.keys), "\(place): has the outputs \(outputs.keys.sorted())")
        for (name, expected) in run.expected.sorted(by: { $0.key < $1.key }) {
            guard let found = outputs[name] else { continue }
            let difference = found.difference(from: expected)
            report.note(difference, in: subject.name)
            report.check(
                what, difference <= subject.tolerance,
                "\(place), output \"\(name)\": differs by \(difference), at most \(subject.tolerance) is allowed")
        }
        for golden in run.golden {
            let floats = outputs[golden.output]?.floats ?? []
            let differences = zip(floats, golden.floats).map { abs(Double($0) - Double($1)) }
            let isNear = floats.count == golden.floats.count && differences.allSatisfy { $0 <= golden.limit }
            report.check(
                what, isNear,
                "\(place), output \"\(golden.output)\": differs from the framework's by \(differences.max() ?? 0)")
        }
    }

    /// An output that is asked for alone is the same.
    private mutating func checkSubsets(_ made: [Outputs]) throws {
        guard let run = sequence.first, let outputs = made.first, let last = outputs.keys.sorted().last else { return }
        let alone = try model.makeSession().run(run.function, run.inputs, outputs: [last]).mapValues { HostTensor($0) }
        report.check(
            .outputs, Array(alone.keys) == [last] && Self.areEqual(alone[last], outputs[last]),
            "\(name): \"\(last)\" asked for alone is \(alone.keys.sorted()), or another")
    }

    /// Back to the start, and to the middle.
    private mutating func checkSnapshots(_ session: any ModelSession, _ made: [Outputs], _ half: State) throws {
        session.reset()
        report.check(
            .snapshots, Self.areEqual(try Self.results(of: sequence[...], in: session), made),
            "\(name): after a reset the same runs give others")
        session.reset()
        _ = try Self.results(of: sequence[..<middle], in: session)
        let snapshot = try session.snapshot()
        _ = try Self.results(of: sequence[middle...], in: session)
        try session.restore(snapshot)
        report.check(
            .snapshots,
            Self.areEqual(try Self.results(of: sequence[middle...], in: session), Array(made[middle...])),
            "\(name): from a snapshot after \(middle) runs the others give others")
        // What runs leave behind their own positions may be hidden from runs; it is not from a snapshot.
        session.reset()
        report.check(
            .snapshots, Self.areEqual(try stateAfter(sequence[..<middle], in: session), half),
            "\(name): a reset leaves something of the states")
        let other = try model.makeSession()
        try other.restore(snapshot)
        report.check(
            .snapshots, Self.areEqual(try Self.results(of: sequence[middle...], in: other), Array(made[middle...])),
            "\(name): a snapshot means something else in another session")
    }

    private typealias State = [String: HostTensor]

    private func stateAfter(_ runs: ArraySlice<ConformanceCase.Run>, in session: any ModelSession) throws -> State {
        _ = try Self.results(of: runs, in: session)
        let tensors = try session.snapshot()
        return Dictionary(tensors.map { ("\($0.name) \($0.elementType) \($0.shape)", HostTensor($0)) }) { first, _ in
            first
        }
    }

    /// A state that only one has is at its initial value: the same number everywhere.
    private static func areEqual(_ left: State, _ right: State) -> Bool {
        Set(left.keys).union(right.keys).allSatisfy { name in
            if let one = left[name], let other = right[name] { return areEqual(one, other) }
            return Set((left[name] ?? right[name])?.floats ?? []).count <= 1
        }
    }

    /// Two sessions in turns, and at the same time.
    private mutating func checkSessions(_ made: [Outputs], _ half: State) throws {
        let sessions = [try model.makeSession(), try model.makeSession()]
        for (index, run) in sequence.enumerated() {
            for session in sessions {
                let found = try Self.results(of: [run], in: session)
                report.check(
                    .sessions, Self.areEqual(found, [made[index]]),
                    "\(name), run \(index): two sessions in turns disturb each other")
            }
        }
        // One that has done less than the other.
        let (ahead, behind) = (try model.makeSession(), try model.makeSession())
        _ = try Self.results(of: sequence[...], in: ahead)
        report.check(
            .sessions, Self.areEqual(try stateAfter(sequence[..<middle], in: behind), half),
            "\(name): a session has states of another")
        let (model, sequence) = (model, sequence)
        let found = try Parallel.map(2, threads: 2) { _ in
            try Self.results(of: sequence[...], in: model.makeSession())
        }
        for outputs in found {
            report.check(
                .sessions, Self.areEqual(outputs, made), "\(name): two sessions at the same time disturb each other")
        }
    }

    /// Requests that do not fit, between the runs: each names its location, and nothing has changed.
    private mutating func checkErrors(_ made: [Outputs]) throws {
        let session = try model.makeSession()
        for (index, run) in sequence.enumerated() {
            for request in Misfit.all(of: run) {
                var found: AccelError?
                do throws(AccelError) {
                    _ = try session.run(request.function, request.inputs, outputs: request.outputs)
                } catch let error { found = error }
                report.check(
                    .errors, found != nil, "\(name), run \(index): \(request.problem) is not rejected")
                guard let found else { continue }
                report.check(
                    .errors, [.invalid, .notFound].contains(found.code) && found.location.contains(request.place),
                    "\(name), run \(index): \(request.problem) is reported as \(found.code.rawValue) at \"\(found.location)\""
                )
            }
            do {
                let outputs = try Self.results(of: [run], in: session)
                report.check(
                    .errors, Self.areEqual(outputs, [made[index]]),
                    "\(name), run \(index): rejected requests have changed something")
            } catch {
                report.check(.errors, false, "\(name), run \(index): after rejected requests: \(error)")
                return
            }
        }
    }

    /// Runs that are cancelled, or whose time is over, before they begin: each says which it was, and nothing has changed.
    private mutating func checkCancellation(_ made: [Outputs]) throws {
        let session = try model.makeSession()
        let (cancelled, late) = (Cancellation(), Cancellation(after: .zero))
        cancelled.cancel()
        for (index, run) in sequence.enumerated() {
            for (cancellation, code) in [(cancelled, AccelError.Code.cancelled), (late, .timedOut)] {
                var found: AccelError?
                do throws(AccelError) {
                    _ = try session.run(run.function, run.inputs, outputs: nil, until: cancellation)
                } catch let error { found = error }
                report.check(
                    .cancellation, found?.code == code,
                    "\(name), run \(index): expected code \(code.rawValue), found \(found?.description ?? "outputs")")
            }
            do {
                let outputs = try Self.results(of: [run], in: session)
                report.check(
                    .cancellation, Self.areEqual(outputs, [made[index]]),
                    "\(name), run \(index): a run that ended early has changed something")
            } catch {
                report.check(.cancellation, false, "\(name), run \(index): after runs that ended early: \(error)")
                return
            }
        }
    }

    /// Bit for bit, but for the sign of zero and what a NaN says.
    private static func areEqual(_ left: HostTensor?, _ right: HostTensor?) -> Bool {
        guard let left, let right else { return false }
        return left.difference(from: right) == 0
    }

    private static func areEqual(_ left: [Outputs], _ right: [Outputs]) -> Bool {
        left.count == right.count
            && zip(left, right).allSatisfy { one, other in
                one.keys == other.keys && one.allSatisfy { areEqual($0.value, other[$0.key]) }
            }
    }
}

/// A request that no function takes.
private struct Misfit {
    let problem: String
    var function: String
    var inputs: [String: StoredTensor]
    var outputs: Set<String>?
    /// What the location has to contain.
    let place: String

    static func all(of run: ConformanceCase.Run) -> [Misfit] {
        func misfit(
            _ problem: String, at place: String, _ change: (inout Misfit) -> Void
        ) -> Misfit {
            var result = Misfit(problem: problem, function: run.function, inputs: run.inputs, place: place)
            change(&result)
            return result
        }
        var all = [
            misfit("an unknown function", at: "no such function") { $0.function = "no such function" },
            misfit("an unknown input", at: "no such input") {
                $0.inputs["no such input"] = StoredTensor(name: "no such input", floats: [0], shape: [1])
            },
            misfit("an unknown output", at: "no such output") { $0.outputs = ["no such output"] },
        ]
        guard let (name, tensor) = run.inputs.min(by: { $0.key < $1.key }) else { return all }
        let other: ElementType = tensor.elementType == .int64 ? .float32 : .int64
        all += [
            misfit("a missing input", at: name) { $0.inputs[name] = nil },
            misfit("an input of another type", at: name) {
                $0.inputs[name] = HostTensor(0, filling: TensorType(other, shape: tensor.shape)).stored(name: name)
            },
            misfit("an input of another shape", at: name) {
                let shape = Shape(tensor.shape.dimensions + [2])
                $0.inputs[name] =
                    HostTensor(0, filling: TensorType(tensor.elementType, shape: shape)).stored(name: name)
            },
        ]
        return all
    }
}
