import AccelByteIO
import AccelCPURuntime
import AccelPackages
import AccelPrograms
public import AccelTensors
import AccelWeightCompression

/// A test of the verification itself: it injects known faults into a copy of the package in memory, one at a time, and
/// requires that the stage responsible for each fault catches it.
public struct SelfTest: Sendable {
    private let program: ModelPlan
    private let programs: [Program]
    private let original: OriginalModel?
    private let package: AcceleratorPackage?

    /// - Throws: `RequestError` if the subject is not a package, or the reference is not a model.
    public init(of subject: Subject, against reference: Subject) throws {
        guard let program = try subject.program(), let programs = reference.programs else {
            throw RequestError("a self test needs a package and the model that it was made from")
        }
        self.program = program
        self.programs = programs
        original = subject.package == nil ? nil : reference.original
        package = subject.package
    }

    /// Runs the control (no fault, so that nothing may be caught) and all faults; those of weights on one weight of
    /// each codec.
    public func run(
        seed: UInt64 = InputSource.defaultSeed, threads: Int = Parallel.processorCount,
        progress: (_ fault: String) -> Void = { _ in }
    ) throws -> SelfTestReport {
        let model = try ReferenceModel(programs, for: program, in: package)
        let bench = try SelfTestBench(program, model: model, seed: seed, threads: threads)
        let contents = try package?.contents ?? PackageContents(inMemory: ModelGraph(of: program))
        func differences(_ contents: PackageContents) throws -> [StructureFinding.Difference] {
            try StructureStage(of: contents, programs: programs, original: original).run().differences
        }
        var trials = [try bench.control(try differences(contents))]
        for fault in Faults.structures {
            progress(fault.name)
            let caught = try fault.inject(contents).map { faulty in
                try differences(faulty).first.map { [Stage.structure: "\($0.name): \($0.reason)"] } ?? [:]
            }
            trials.append(
                .init(
                    fault: fault.name, detail: fault.detail, target: "the package", claimed: .structure,
                    stages: [.structure], caught: caught))
        }
        for target in targets(of: model) {
            for fault in Faults.weights {
                progress(fault.name)
                trials.append(try bench.trial(of: fault, on: target))
            }
        }
        for fault in Faults.plans {
            progress(fault.name)
            trials.append(try bench.trial(of: fault))
        }
        for fault in Faults.kernels {
            progress(fault.name)
            trials.append(try bench.trial(of: fault))
        }
        return SelfTestReport(seed: seed, trials: trials)
    }

    /// Returns one weight for each codec with its options: the smallest with several rows and a twin of equal shape, if
    /// there is one. Tables are never targets.
    private func targets(of model: ReferenceModel) -> [CompressedTensor] {
        let weights = program.weights.filter {
            model.weights[$0.name] != nil && $0.elementType.isFloatingPoint && $0.shape.count > 1
        }
        func rank(_ weight: CompressedTensor) -> (Int, Int) {
            let hasTwin = weights.contains { $0.hasLayout(of: weight) }
            return ((weight.shape.rank > 1 ? 0 : 2) + (hasTwin ? 0 : 1), weight.shape.count)
        }
        let byCodec = Dictionary(grouping: weights, by: \.codec.values.request)
        return byCodec.keys.sorted().compactMap { codec in
            byCodec[codec]?.map { (rank: rank($0), weight: $0) }.min { $0.rank < $1.rank }?.weight
        }
    }
}
