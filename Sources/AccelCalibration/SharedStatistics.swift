import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Statistics that several processes make together. Each begins with slices of its own; it takes others where no process works on them,
/// since theirs has not started or was killed. Who comes last adds the sums up. The result does not depend on who has made which.
final class SharedStatistics {
    private let run: SampleRun
    private let original: SampleRun?
    private let memory: any SharedStatisticsMemory
    /// The first of the slices that this process has taken from others: it goes on with them unless their own process comes.
    private var taken: Set<Int> = []

    init(_ run: SampleRun, besides original: SampleRun?, by memory: any SharedStatisticsMemory) {
        (self.run, self.original, self.memory) = (run, original, memory)
    }

    /// Returns the statistics of the inputs of a weight; nil if there was no vector.
    func statistics(of weight: Int, at location: StatisticsLocation) throws -> ActivationStatistics? {
        let work = Work(self, weight, location)
        let (own, start) = (memory.own(of: work.slices.count), ContinuousClock.now)
        try work.make(Array(work.slices[own]))
        let patience = Patience(after: start)
        let inTurn = work.slices[own.upperBound...] + work.slices[..<own.upperBound]
        while true {
            if let found = memory.statistics(at: location) { return found }
            let missing = work.missing(among: Array(inTurn))
            if missing.isEmpty, let sum = try work.sum() { return sum.statistics }
            var made = try work.make(missing.filter { taken.contains($0.lowerBound) })
            if made.isEmpty, patience.isOver {
                // One at a time: its own process may come for the next.
                for slice in missing where made.isEmpty { made = try work.make([slice]) }
                taken.formUnion(made.map(\.lowerBound))
            }
            if made.isEmpty { try memory.wait() }
        }
    }

    /// The work on the statistics of one weight.
    private struct Work {
        let slices: [Range<Int>]
        private let run: SampleRun
        private let original: SampleRun?
        private let memory: any SharedStatisticsMemory
        private let weight: Int
        private let location: StatisticsLocation

        init(_ shared: SharedStatistics, _ weight: Int, _ location: StatisticsLocation) {
            (run, original, memory) = (shared.run, shared.original, shared.memory)
            (self.weight, self.location) = (weight, location)
            slices = run.slices(of: weight)
        }

        private func nodes(above slice: Range<Int>) -> [Range<Int>] {
            MomentTree.nodes(above: slice, of: run.slices.count)
        }

        /// The entry with the sums of some slices.
        private func entry(_ slices: Range<Int>) -> String { "sums of slices \(slices) of \(run.slices.count)" }

        /// The nodes whose sums processes have made.
        private func made() -> Set<Range<Int>> {
            let all = Array(Set(slices.flatMap(nodes)))
            let present = memory.present(all.map(entry), at: location)
            return Set(all.filter { present.contains(entry($0)) })
        }

        /// Returns the slices whose sums no process has made.
        func missing(among wanted: [Range<Int>]) -> [Range<Int>] {
            let made = made()
            return wanted.filter { nodes(above: $0).allSatisfy { !made.contains($0) } }
        }

        /// Makes the sums of slices that no process has made or works on.
        /// - Returns: These slices.
        @discardableResult
        func make(_ wanted: [Range<Int>]) throws -> [Range<Int>] {
            guard !wanted.isEmpty else { return [] }
            let claims = missing(among: wanted).compactMap { slice in
                memory.claim(entry(slice), at: location).map { (slice: slice, claim: $0) }
            }
            defer { withExtendedLifetime(claims) {} }
            // Who had a claim before may have made its sums, and they may have been added up.
            let left = missing(among: claims.map(\.slice))
            guard !left.isEmpty, memory.statistics(at: location) == nil else { return [] }
            let sums = MomentSums(columns: run.columns(of: weight), hasDrift: original != nil, slices: slices.count)
            var tree = MomentTree(run.slices.count)
            for slice in left {
                try run.run(to: weight, slices: slice)
                try original?.run(to: weight, slices: slice)
                let part = try run.moments(of: weight, slice, by: sums, besides: original)
                try tree.add(part, of: slice, threads: run.threads)
            }
            for node in tree.nodes { try memory.keep(node.part.content(), as: entry(node.slices), at: location) }
            return left
        }

        struct Sum {
            /// nil if there was no vector.
            let statistics: ActivationStatistics?
        }

        /// Adds the sums of all slices.
        /// - Returns: nil while another process does that, or if the sums of a slice could not be read: they are to be made again.
        func sum() throws -> Sum? {
            guard let claim = memory.claim(nil, at: location) else { return nil }
            defer { withExtendedLifetime(claim) {} }
            // Who had the claim before may have added them.
            if let found = memory.statistics(at: location) { return Sum(statistics: found) }
            var tree = MomentTree(run.slices.count)
            var (used, end) = ([Range<Int>](), 0)
            let made = made()
            for slice in slices where slice.lowerBound >= end {
                guard let node = nodes(above: slice).last(where: made.contains) else { return nil }
                guard let read = read(node) else {
                    memory.remove(entry(node), at: location)
                    return nil
                }
                try tree.add(read, of: node, threads: run.threads)
                used.append(node)
                end = node.upperBound
            }
            guard let found = tree.root?.statistics(threads: run.threads) else { return Sum(statistics: nil) }
            try memory.keep(found, at: location)
            for node in used { memory.remove(entry(node), at: location) }
            return Sum(statistics: found)
        }

        private func read(_ node: Range<Int>) -> MomentPart? {
            memory.content(of: entry(node), at: location)
                .flatMap { try? SafetensorsFile($0, file: entry(node)) }
                .flatMap { MomentPart($0, columns: run.columns(of: weight), hasDrift: original != nil) }
        }
    }
}
