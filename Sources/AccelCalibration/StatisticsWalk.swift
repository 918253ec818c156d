import AccelByteIO
import AccelPrograms
import AccelWeightCompression

/// Visits a part's weights in order, and runs the samples only as far as unknown statistics require.
final class StatisticsWalk {
    private let run: SampleRun
    private let samples: CalibrationSamples
    private let original: StatisticsWalk?
    private let memory: (any StatisticsMemory)?
    private var stored: StoredSoFar?
    private var shared: (index: Int, statistics: ActivationStatistics?)?
    /// The work of several processes; nil if this one makes all statistics.
    private let common: SharedStatistics?

    var weights: [String] { run.weights }

    /// - Parameters:
    ///   - tensors: replacements for original weights; nil for none.
    ///   - original: a walk with the original weights.
    init(
        _ samples: CalibrationSamples, with tensors: [CompressedTensor]? = nil, besides original: StatisticsWalk? = nil,
        memory: (any StatisticsMemory)?, threads: Int
    ) throws {
        run = try SampleRun(samples, besides: original?.run.arenaBytes ?? 0, threads: threads)
        self.samples = samples
        self.original = original
        self.memory = memory
        common = (memory as? any SharedStatisticsMemory).map { [run] in
            SharedStatistics(run, besides: original?.run, by: $0)
        }
        if let tensors {
            let own = tensors.filter { run.reads($0.name) }
            stored = memory.map { _ in StoredSoFar(own) }
            for tensor in own { try run.replace(tensor) }
        }
    }

    /// Checks that the statistics of some weights fit into memory.
    /// - Parameters:
    ///   - held: bytes of statistics that are already in memory.
    ///   - keepingAll: whether those of all the weights are in memory at once.
    /// - Returns: The bytes of the statistics to be added.
    /// - Throws: `RequestError` (unavailable) if they do not fit.
    func requireMemory(
        forStatisticsOf isWanted: (String) -> Bool, besides held: Int, keepingAll: Bool
    ) throws -> Int {
        let (all, largest, passing) = run.statisticsBytes(of: isWanted, besides: original?.run)
        let arenas = [run.arenaBytes, original?.run.arenaBytes ?? 0]
        try MachineMemory.require(
            MachineMemory.sum(arenas + [held, keepingAll ? all : largest, passing]),
            for: "calibration of the weights of \(samples.part.name)")
        return all
    }

    func statistics(of index: Int) throws -> ActivationStatistics? {
        var first = index
        while run.sharesInput(withWeightBefore: first) { first -= 1 }
        if let shared, shared.index == first { return shared.statistics }
        let location = StatisticsLocation(part: samples.part.name, weight: weights[first], before: stored?.digest)
        var found = memory?.statistics(at: location)
        if found == nil {
            if let common {
                found = try common.statistics(of: index, at: location)
            } else {
                try run.run(to: index)
                try original?.run.run(to: index)
                found = try run.statistics(of: index, besides: original?.run)
                if let found { try memory?.keep(found, at: location) }
            }
        }
        shared = (first, found)
        return found
    }

    /// The indices of weights that are multiplied with the same vectors, one after the other.
    var groups: [[Int]] {
        weights.indices.reduce(into: []) { groups, index in
            if run.sharesInput(withWeightBefore: index), !groups.isEmpty {
                groups[groups.count - 1].append(index)
            } else {
                groups.append([index])
            }
        }
    }

    /// Returns whether a call before the product with a weight reads it, as the lookup of tied word embeddings does.
    func isReadBefore(_ index: Int) -> Bool { run.isRead(weights[index], before: index) }

    func replace(_ tensor: CompressedTensor) throws {
        try run.replace(tensor)
        stored?.add(tensor)
    }

    /// Hands over the runs, or the errors of the outputs that shares of the work have measured. The walk must not continue.
    /// - Parameter weights: all weights that differ from the part's.
    func store(in finished: FinishedRuns, with weights: [CompressedTensor]) throws {
        guard let original else { return }
        guard let memory, samples.linked.isEmpty else {
            return finished.store(original: original.run, compressed: run)
        }
        let errors = SharedErrors(samples, with: weights, in: memory)
        if common != nil, try run.replaceAll(by: weights) { try errors.make(by: run, comparing: original.run) }
        finished.store(original: original.run, compressed: run, errors.all, of: errors.weights)
    }
}
