import AccelByteIO
import AccelPrograms
import AccelWeightCompression

/// Goes through a part's weights in order, and runs the samples only as far as what is not known asks for.
final class StatisticsWalk {
    private let run: SampleRun
    private let part: String
    private let original: StatisticsWalk?
    private let memory: (any StatisticsMemory)?
    /// The weight that the samples have come to; nil: they are at the beginning.
    private var position: Int?
    private var stored: StoredSoFar?
    private var shared: (index: Int, statistics: ActivationStatistics?)?

    var weights: [String] { run.weights }

    /// - Parameters:
    ///   - tensors: in place of the weights as they were; nil: none.
    ///   - original: a walk with all weights as they were.
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

    /// - Parameter held: bytes of what is known already.
    /// - Returns: bytes of what will be known besides.
    /// - Throws: `RequestError` (unavailable) when what the statistics of some weights take does not fit into memory.
    func requireMemory(forStatisticsOf isWanted: (String) -> Bool, besides held: Int) throws -> Int {
        let (kept, passing) = run.statisticsBytes(of: isWanted, besides: original?.run)
        let arenas = [run.arenaBytes, original?.run.arenaBytes ?? 0]
        try MachineMemory.require(
            MachineMemory.sum(arenas + [held, kept, passing]), for: "calibration of the weights of \(part)")
        return kept
    }

    func statistics(of index: Int) throws -> ActivationStatistics? {
        var first = index
        while run.sharesInput(withWeightBefore: first) { first -= 1 }
        if let shared, shared.index == first { return shared.statistics }
        let place = StatisticsPlace(part: part, weight: weights[first], before: stored?.digest)
        var found = memory?.statistics(at: place)
        if found == nil {
            try go(to: index)
            try original?.go(to: index)
            found = run.statistics(of: index, besides: original?.run)
            if let found { try memory?.keep(found, at: place) }
        }
        shared = (first, found)
        return found
    }

    func replace(_ tensor: CompressedTensor) throws {
        try run.replace(tensor)
        stored?.add(tensor)
    }

    private func go(to index: Int) throws {
        if let position, position > index {
            try run.restart()
            self.position = nil
        }
        if position != index { try run.run(from: position, to: index) }
        position = index
    }
}
