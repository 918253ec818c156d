import AccelByteIO

/// One job of an array job, by the variables that its scheduler sets: the number and the count of the shares of a conversion.
struct ArrayJob {
    /// The names of a scheduler's variables.
    private struct Scheduler {
        let index: String
        /// The number of jobs.
        let count: String
        /// The index of the first job, if it is a variable; else 0.
        var first: String?
        /// The distance of two indices, if it is a variable; else 1.
        var step: String?
        /// The index of the last job, if it is a variable.
        var last: String?
    }

    /// Slurm's job arrays, indexed jobs of Kubernetes, array jobs of AWS Batch. Kubernetes sets no count: a manifest sets
    /// `JOB_COMPLETIONS` to its `completions`.
    private static let schedulers = [
        Scheduler(
            index: "SLURM_ARRAY_TASK_ID", count: "SLURM_ARRAY_TASK_COUNT", first: "SLURM_ARRAY_TASK_MIN",
            step: "SLURM_ARRAY_TASK_STEP", last: "SLURM_ARRAY_TASK_MAX"),
        Scheduler(index: "JOB_COMPLETION_INDEX", count: "JOB_COMPLETIONS"),
        Scheduler(index: "AWS_BATCH_JOB_ARRAY_INDEX", count: "AWS_BATCH_JOB_ARRAY_SIZE"),
    ]

    /// The number of the job, from 1 to `count`.
    let number: Int
    /// The number of jobs.
    let count: Int

    /// The job that an environment describes.
    /// - Parameter count: the number of jobs; nil: as the scheduler states it.
    /// - Throws: `RequestError` if no variable of a scheduler is set, several are, or one is not the number that it has to be.
    init(_ environment: [String: String], count stated: Int?) throws {
        let set = Self.schedulers.filter { environment[$0.index] != nil }
        guard let scheduler = set.first, set.count == 1 else {
            let names = (set.isEmpty ? Self.schedulers : set).map(\.index).joined(separator: ", ")
            throw RequestError(
                "shard auto: expected one of the variables \(names), found \(set.isEmpty ? "none" : "\(set.count)")")
        }
        func value(_ name: String) throws -> Int {
            let text = environment[name]
            // Differences of numbers of 32 bits do not overflow.
            guard let number = text.flatMap({ Int32($0) }) else {
                throw RequestError(
                    "shard auto: the variable \(name) is \(text.map { "\"\($0)\"" } ?? "not set"), expected a number")
            }
            return Int(number)
        }
        /// A number that not every scheduler has.
        func value(of name: String?) throws -> Int? {
            guard let name, environment[name] != nil else { return nil }
            return try value(name)
        }
        let index = try value(scheduler.index)
        let (first, step) = (try value(of: scheduler.first) ?? 0, try value(of: scheduler.step) ?? 1)
        let count = try stated ?? value(scheduler.count)
        // The place of a job among indices that are no range is not known.
        let isRange =
            try stated != nil || value(of: scheduler.last).map { step > 0 && ($0 - first) / step + 1 == count } ?? true
        guard step > 0, index >= first, (index - first).isMultiple(of: step), isRange else {
            throw RequestError(
                "shard auto: \(scheduler.index) is \(index), expected one of \(count) indices from \(first) in steps of \(step)"
            )
        }
        (number, self.count) = ((index - first) / step + 1, count)
    }
}
