import AccelByteIO
public import AccelCPURuntime
public import AccelCalibration
public import AccelTensors
public import AccelWeightCompression

/// Compares a package with the model it was made from.
///
///     let report = try Parity(of: .package(package), against: .reference(programs)).check()
///     print(report.terminal(width: 100, colour: false))
public struct Parity: Sendable {
    /// The stages, inputs, limits and resources of a verification.
    public struct Options: Sendable {
        /// The stages to run.
        public var stages: Set<Stage>
        /// The source of the inputs for stages that run functions.
        public var inputs: InputSource
        /// Limits that replace the defaults; nil keeps the defaults of each storage scheme.
        public var budget: Budget?
        /// The device that the package is for, whose limits it has to keep to; nil for none. Only packages have these sizes.
        public var profile: DeviceProfile?
        /// The threads that decode weights and run kernels. Results do not depend on it.
        public var threads: Int
        /// The most bytes of values of samples in memory, beyond which a file has them; nil for a quarter of the machine's, at most
        /// 512 MiB.
        public var sampleMemory: Int?
        /// Rank weights by what they cost the outputs, with the rules that would help; without effect for a format whose weights all
        /// have one scheme.
        public var ranksWeights = true
        /// The schemes that rules for weights may name, since the file has no others; nil for no limit.
        public var isExpressible: SchemeFilter?
        /// The bits that the files of a model of another format have for each weight, by its name. Its weights are compared as encodings
        /// that accelc has, which may take other bytes.
        public var storedBits: [String: Int] = [:]

        /// The weights of a model of another format whose codes need not be those of a conversion, such as those that a file of another
        /// tool has.
        public var freeCodes: [String: any WeightCodec] = [:]

        /// Creates options; by default all stages run on drawn inputs within the default limits.
        public init(
            stages: Set<Stage> = Set(Stage.allCases), inputs: InputSource = .seeded(InputSource.defaultSeed),
            budget: Budget? = nil, profile: DeviceProfile? = nil, threads: Int = Parallel.processorCount
        ) {
            self.stages = stages
            self.inputs = inputs
            self.budget = budget
            self.profile = profile
            self.threads = threads
        }
    }

    let subject: Subject
    let reference: Subject?

    /// Creates a comparison. `reference` is nil if there is only a golden file to compare with.
    public init(of subject: Subject, against reference: Subject?) {
        self.subject = subject
        self.reference = reference
    }

    /// The self test can inject faults into a copy of the subject's execution plan and weights.
    public var hasSelfTest: Bool {
        switch subject {
        case .package, .planned: true
        case .coreML, .reference, .model, .runtime: false
        }
    }

    /// Runs the requested stages.
    /// - Parameter progress: called with the current stage and its completed fraction, from 0 to 1.
    /// - Throws: `FormatError` if the container is corrupt (exit status 4); `RequestError` if no function takes the
    ///   inputs (3). A metric beyond its limit does not throw: see `ParityReport.exitStatus`.
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
        report.foreignModel = subject.foreignModel(reference)
        if options.inputs.seed == nil, report.outputs.contains(where: \.leavesPaddingOut) {
            report.inputs += "; \(try options.inputs.withoutPadding)"
        }
        try report.checkResources(options.budget?.resources ?? [], of: subject) { try runner.relativeSpeed() }
        if let profile = options.profile, let package = subject.package {
            try report.checkSize(profile, of: package)
        }
        if let budget = options.budget { report.allow(by: budget) }
        report.checkUse(of: options.budget, asked: options.stages)
        return report
    }
}
