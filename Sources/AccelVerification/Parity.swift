import AccelByteIO
import AccelCPURuntime
public import AccelTensors

/// Compares a package with the model that it was made from.
///
///     let report = try Parity(of: .package(package), against: .reference(programs)).check()
///     print(report.terminal(width: 100, colour: false))
public struct Parity: Sendable {
    public struct Options: Sendable {
        /// The stages to run.
        public var stages: Set<Stage>
        public var inputs: InputSource
        public var budget: Budget?
        public var threads: Int
        /// Bytes that intermediate results of the reference may take while operators are compared. Where all together
        /// take more, the model runs several times.
        public var intermediateBytes: Int

        public init(
            stages: Set<Stage> = Set(Stage.allCases), inputs: InputSource = .seeded(InputSource.defaultSeed),
            budget: Budget? = nil, threads: Int = Parallel.processorCount, intermediateBytes: Int = 2 << 30
        ) {
            self.stages = stages
            self.inputs = inputs
            self.budget = budget
            self.threads = threads
            self.intermediateBytes = intermediateBytes
        }
    }

    let subject: Subject
    let reference: Subject?

    /// - Parameter reference: `.reference`; nil when there is only a golden file to compare with.
    public init(of subject: Subject, against reference: Subject?) {
        self.subject = subject
        self.reference = reference
    }

    /// Whether faults can be injected into the subject: into a copy of a plan and its weights.
    public var hasSelfTest: Bool {
        switch subject {
        case .package, .compiled: true
        case .coreML, .reference, .model: false
        }
    }

    /// Runs the stages.
    /// - Parameter progress: gets the stage and the share of it that is done.
    /// - Throws: `FormatError` when the container is corrupt (exit status 4); `RequestError` when no function takes the
    ///   inputs (3). A figure beyond its limit does not throw: see `ParityReport.exitStatus`.
    public func check(
        _ options: Options = Options(), progress: (Stage, Double) -> Void = { _, _ in }
    ) throws -> ParityReport {
        let stages = options.stages
        var runner = try subject.stages(against: reference, options)
        if stages.contains(.container) {
            progress(.container, 0)
            try runner.checkContainer()
        }
        progress(.structure, 0)
        try runner.compareStructure()
        try runner.compareWeights { progress(.weights, $0) }
        if !stages.isDisjoint(with: [.operators, .graph, .outputs]) { try runner.runFunctions(progress) }
        var report = runner.report
        report.checkSize(budget: options.budget)
        if let budget = options.budget { report.allow(by: budget) }
        report.checkUse(of: options.budget, asked: options.stages)
        return report
    }
}
