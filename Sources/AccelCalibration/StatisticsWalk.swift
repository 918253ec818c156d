import AccelByteIO
import AccelPrograms
import AccelWeightCompression

/// Visits a part's weights in order, and runs the samples only as far as unknown statistics require.
final class StatisticsWalk {
    private let run: SampleRun
    private let part: String
    private let original: StatisticsWalk?
    private let memory: (any StatisticsMemory)?
    private var stored: StoredSoFar?
    private var shared: (index: Int, statistics: ActivationStatistics?)?

    var weights: [String] { run.weights }

    /// - Parameters:
    ///   - tensors: replacements for original weights; nil for none.
    ///   - original: a walk with the original weights.
    init(
        _ samples: CalibrationSamples, with tensors: [CompressedTensor]? = nil, besides original: StatisticsWalk? = nil,
        memory: (any StatisticsMemory)?, threads: Int
    ) throws {
        run = try SampleRun(samples, besides: original?.run.arenaBytes ?? 0, threads: threads)
        part = samples.part.name
        self.original = original
        self.memory = memory
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
            for: "calibration of the weights of \(part)")
        return all
    }

    func statistics(of index: Int) throws -> ActivationStatistics? {
        var first = index
        while run.sharesInput(withWeightBefore: first) { first -= 1 }
        if let shared, shared.index == first { return shared.statistics }
        let location = StatisticsLocation(part: part, weight: weights[first], before: stored?.digest)
        var found = memory?.statistics(at: location)
        if found == nil {
            try run.run(to: index)
            try original?.run.run(to: index)
            found = try run.statistics(of: index, besides: original?.run)
            if let found { try memory?.keep(found, at: location) }
        }
        shared = (first, found)
        return found
    }

    /// Returns whether a call before the product with a weight reads it, as the lookup of tied word embeddings does.
    func isReadBefore(_ index: Int) -> Bool { run.isRead(weights[index], before: index) }

    func replace(_ tensor: CompressedTensor) throws {
        try run.replace(tensor)
        stored?.add(tensor)
    }

    /// Hands over the runs. The walk must not continue.
    func store(in finished: FinishedRuns) {
        if let original { finished.store(original: original.run, compressed: run) }
    }
}
