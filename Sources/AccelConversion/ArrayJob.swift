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
        func number(_ name: String) throws -> Int {
            guard let text = environment[name], let number = Int(text) else {
                throw RequestError(
                    "shard auto: the variable \(name) is \(environment[name].map { "\"\($0)\"" } ?? "not set"), expected a number"
                )
            }
            return number
        }
        func number(_ name: String?, or plain: Int) throws -> Int {
            guard let name, environment[name] != nil else { return plain }
            return try number(name)
        }
        let index = try number(scheduler.index)
        let (first, step) = (try number(scheduler.first, or: 0), try number(scheduler.step, or: 1))
        count = try stated ?? number(scheduler.count)
        let last = try number(scheduler.last, or: first)
        guard step > 0, index >= first, (index - first).isMultiple(of: step),
            scheduler.last.flatMap({ environment[$0] }) == nil || (last - first) / step + 1 == count || stated != nil
        else {
            throw RequestError(
                "shard auto: \(scheduler.index) is \(index), expected one of \(count) indices from \(first) in steps of \(step)"
            )
        }
        self.number = (index - first) / step + 1
    }
}
