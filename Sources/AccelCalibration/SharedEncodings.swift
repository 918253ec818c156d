public import AccelByteIO
public import AccelWeightCompression

/// The compression of weights with the same inputs by several processes, each of which makes some units of them. The result does not depend on
/// who has made which.
public struct SharedEncodings {
    /// The most pieces of a weight.
    private static let mostPieces = 8
    private let memory: any SharedStatisticsMemory
    private let weights: [Weight]
    private let pieces: [Piece]

    /// A weight, and the identity of its work.
    public struct Weight {
        let work: JudgedCompression
        let location: StatisticsLocation

        /// - Parameter job: another one for each tensor, statistics and codec.
        public init(_ work: JudgedCompression, named name: String, job: Digest) {
            self.work = work
            location = StatisticsLocation(part: "weights", weight: name, before: job)
        }
    }

    private struct Piece {
        /// The index of its weight.
        let weight: Int
        let units: Range<Int>
        let entry: String
    }

    /// Divides weights into pieces.
    /// - Parameter memory: where the processes leave their pieces.
    public init(_ weights: [Weight], in memory: any SharedStatisticsMemory) {
        (self.memory, self.weights) = (memory, weights)
        pieces = weights.indices.flatMap { weight in
            let units = weights[weight].work.unitCount
            let count = min(units, Self.mostPieces)
            return (0..<count).map { index in
                let range = index * units / count..<(index + 1) * units / count
                return Piece(weight: weight, units: range, entry: "units \(range) of \(units)")
            }
        }
    }

    /// Makes the encodings of all weights. Each process begins with pieces of its own; it takes others where no process works on them, since
    /// theirs has not started or was killed.
    /// - Parameters:
    ///   - threads: those of this process.
    ///   - find: returns the result of a weight that another process has kept; nil for none.
    public func encodings(
        threads: Int, find: (_ weight: Int) throws -> (tensor: CompressedTensor, distortion: Distortion)?
    ) throws -> [(tensor: CompressedTensor, distortion: Distortion)] {
        let (own, start) = (memory.own(of: pieces.count), ContinuousClock.now)
        for piece in pieces[own] { _ = try make(piece, threads: threads) }
        let patience = Patience(after: start)
        let inTurn = pieces[own.upperBound...] + pieces[..<own.upperBound]
        var results: [(tensor: CompressedTensor, distortion: Distortion)?] = weights.map { _ in nil }
        while true {
            for weight in weights.indices where results[weight] == nil {
                results[weight] = try find(weight) ?? joined(weight)
            }
            let made = results.compactMap(\.self)
            if made.count == weights.count { return made }
            var hasMade = false
            if patience.isOver {
                for piece in inTurn where !hasMade && results[piece.weight] == nil {
                    hasMade = try make(piece, threads: threads)
                }
            }
            if !hasMade { try memory.wait() }
        }
    }

    /// Removes the pieces of a weight, which are of no use once its encoding is kept.
    public func remove(_ name: String) {
        for piece in pieces where weights[piece.weight].location.weight == name {
            memory.remove(piece.entry, at: weights[piece.weight].location)
        }
    }

    /// Makes a piece that no process has made or works on.
    /// - Returns: Whether it did.
    private func make(_ piece: Piece, threads: Int) throws -> Bool {
        let weight = weights[piece.weight]
        return try memory.make(piece.entry, at: weight.location) {
            try weight.work.piece(piece.units, threads: threads).content
        }
    }

    /// Returns the encoding of a weight; nil while pieces are missing.
    private func joined(_ weight: Int) throws -> (tensor: CompressedTensor, distortion: Distortion)? {
        let (work, location) = (weights[weight].work, weights[weight].location)
        let own = pieces.filter { $0.weight == weight }
        guard memory.present(own.map(\.entry), at: location).count == own.count else { return nil }
        let read = own.map { piece in
            memory.content(of: piece.entry, at: location).flatMap { work.piece(piece.units, from: $0) }
        }
        for (piece, content) in zip(own, read) where content == nil { memory.remove(piece.entry, at: location) }
        let made = read.compactMap(\.self)
        return made.count == own.count ? try work.joined(made) : nil
    }
}
