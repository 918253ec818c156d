import AccelByteIO
import AccelCPURuntime
import AccelPackages

/// One comparison of a subject with a reference: its stages, in their order. `Parity` runs the requested ones; a stage
/// may use the results of earlier ones. A kind of subject is one conforming type.
protocol StageRunner {
    /// The report so far.
    var report: ParityReport { get }
    /// Runs S0.
    /// - Throws: `FormatError` if the bytes differ from the written ones.
    mutating func checkContainer() throws
    /// Runs ST if it is requested, and prepares the reference for later stages.
    mutating func compareStructure() throws
    /// Runs S1 if it is requested, and finds the weights that differ from the reference.
    mutating func compareWeights(progress: (Double) -> Void) throws
    /// Runs the requested stages of S2 to S4.
    mutating func runFunctions(_ progress: (Stage, Double) -> Void) throws
    /// Measures the least speed of the functions relative to float32 (`SpeedComparison`); nil if that is not possible.
    func relativeSpeed() throws -> SpeedFigure?
}

extension StageRunner {
    func relativeSpeed() throws -> SpeedFigure? { nil }
}

extension Subject {
    /// Returns the runner that compares this subject with a reference.
    /// - Throws: `RequestError` if this subject cannot be verified (it is a reference), or if there is nothing to
    ///   compare with.
    func stages(against reference: Subject?, _ options: Parity.Options) throws -> any StageRunner {
        switch self {
        case .package(let package):
            try ProgramStages(of: package.graph.planned(), in: package, against: reference, options)
        case .planned(let program): ProgramStages(of: program, in: nil, against: reference, options)
        case .coreML(let package): try CoreMLStages(of: package, against: reference, options)
        case .runtime(let subject): try RuntimeStages(of: subject, against: reference, options)
        case .reference, .model:
            throw RequestError("what is verified has to be a package, not a model")
        }
    }
}
