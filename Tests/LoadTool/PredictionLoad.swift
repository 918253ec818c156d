import Accel
import AccelByteIO
import AccelTensors
import Foundation

/// Runs the first function of a package from many tasks at a time. Every answer has to be that of a run alone, memory may grow by what
/// the allowed sessions take, and threads by their number.
struct PredictionLoad {
    let tasks: Int
    /// Of each task.
    let runs: Int
    let concurrency: Int

    func run(_ path: String) async throws {
        var configuration = Configuration(threads: 2)
        configuration.concurrency = concurrency
        let model = try await AccelModel(.path(path), configuration: configuration)
        guard let name = model.functions.first?.name else { throw RequestError("\(path) has no functions") }
        let function = try model.function(name)
        let inputs = try (0..<4).map { try Self.inputs(of: function.description, seed: $0) }
        var expected: [[String: [Float]]] = []
        for inputs in inputs { expected.append(try Self.floats(try await function(inputs))) }
        let plan = try function.plan()
        let before = try Self.process()

        let (wrong, finished) = (Locked(0), Locked(0))
        let most = Locked((kibibytes: 0, threads: 0, sessions: 0))
        try await withThrowingTaskGroup(of: Void.self) { [tasks, runs, expected] group in
            for task in 0..<tasks {
                group.addTask {
                    defer { finished.withLock { $0 += 1 } }
                    for run in 0..<runs {
                        let index = (task + run) % inputs.count
                        // Every eighth call is given up, at a moment of its own.
                        let isLimited = (task + run) % 8 == 7
                        let options = RunOptions(timeLimit: isLimited ? .microseconds(100 * (run + 1)) : nil)
                        do throws(AccelError) {
                            let outputs = try await function.prediction(from: inputs[index], options: options)
                            if try Self.floats(outputs) != expected[index] { wrong.withLock { $0 += 1 } }
                        } catch {
                            if !isLimited || error.code != .timedOut { wrong.withLock { $0 += 1 } }
                        }
                    }
                }
            }
            group.addTask {
                while finished.withLock({ $0 }) < tasks {
                    try await Task.sleep(for: .milliseconds(5))
                    let (now, sessions) = (try Self.process(), model.sessionCount)
                    most.withLock { most in
                        most.kibibytes = max(most.kibibytes, now.kibibytes)
                        most.threads = max(most.threads, now.threads)
                        most.sessions = max(most.sessions, sessions)
                    }
                }
            }
            try await group.waitForAll()
        }
        let now = try Self.process()
        let seen = most.withLock { $0 }
        let failed = wrong.withLock { $0 }
        print(
            "a model runs from \(tasks) tasks: each answer is that of a run alone\t\(tasks * runs)\t\(tasks * runs - failed)\t\(failed)"
        )
        let grown = max(now.kibibytes, seen.kibibytes) - before.kibibytes
        // A session has values, scratch, states and a thread; a task its outputs.
        let session = (plan.valueBytes + plan.scratchBytes + plan.stateBytes) >> 10
        let allowed = concurrency * (session + 1024) + tasks * 64 + 4096
        CancellationLoad.note(
            "memory grew by \(grown) KiB of \(allowed); \(seen.sessions) sessions of \(concurrency); "
                + "threads from \(before.threads) to \(seen.threads)")
        row("its memory grows by the sessions that it may have", grown <= allowed)
        row("it has no more sessions than it may", max(seen.sessions, model.sessionCount) <= concurrency)
        row(
            "threads grow by sessions, not by tasks",
            seen.threads - before.threads <= 2 * concurrency + 2 * Parallel.processorCount)
    }

    private func row(_ text: String, _ holds: Bool) { print("\(text)\t1\t\(holds ? 1 : 0)\t\(holds ? 0 : 1)") }

    /// Indices 0 to 3, flags that are set, and numbers around 1.
    private static func inputs(of function: FunctionDescription, seed: Int) throws -> AccelFunction.Inputs {
        var inputs: AccelFunction.Inputs = [:]
        for port in function.inputs {
            inputs[port.name] =
                switch port.elementType {
                case .float32:
                    try AccelTensor(of: Float.self, shape: port.shape) { span in
                        for index in span.indices { span[index] = 1 + Float((index * 7 + seed) % 11) / 16 }
                    }
                case .bool:
                    try AccelTensor(of: Bool.self, shape: port.shape) { span in
                        for index in span.indices { span[index] = true }
                    }
                default:
                    try AccelTensor(of: Int64.self, shape: port.shape) { span in
                        for index in span.indices {
                            span[index] = port.role.kind == .tokens ? Int64((index * 5 + seed) % 4) : 1
                        }
                    }
                }
        }
        return inputs
    }

    private static func floats(_ outputs: Outputs) throws(AccelError) -> [String: [Float]] {
        var floats: [String: [Float]] = [:]
        for (name, tensor) in outputs.tensors where tensor.elementType == .float32 {
            floats[name] = try tensor.array(of: Float.self)
        }
        return floats
    }

    /// The resident memory and the number of threads of this process.
    private static func process() throws -> (kibibytes: Int, threads: Int) {
        let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        var (kibibytes, threads) = (0, 0)
        for line in text.split(separator: "\n") {
            let words = line.split(whereSeparator: { " \t".contains($0) })
            if words.first == "VmRSS:", words.count > 1 { kibibytes = Int(words[1]) ?? 0 }
            if words.first == "Threads:", words.count > 1 { threads = Int(words[1]) ?? 0 }
        }
        return (kibibytes, threads)
    }
}
