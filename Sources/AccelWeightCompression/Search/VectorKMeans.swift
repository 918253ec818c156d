import CAccelKernels

/// k-means of vectors of a few values. The optimum is intractable, so this is a deterministic local search.
///
/// The objective is the sum of squared distances of the training vectors: all, or every n-th of very many. The search
/// starts from the product of exact scalar k-means, so it is never worse than a scalar table with the same bits per
/// weight. Lloyd iterations then improve it. An entry without vectors moves to the farthest vector.
enum VectorKMeans {
    private static let rounds = 24
    private static let mostVectors = 1 << 16

    /// Returns `1 << bits` entries of `size` values each, concatenated.
    /// - Parameters:
    ///   - points: whole vectors, concatenated; finite.
    ///   - bits: a multiple of `size`.
    static func entries(of points: [Float], size: Int, bits: Int) -> [Float] {
        let count = points.count / size
        let step = max(1, (count + mostVectors - 1) / mostVectors)
        let training =
            step == 1 ? points : stride(from: 0, to: count, by: step).flatMap { points[$0 * size..<($0 + 1) * size] }
        var entries = product(of: training, size: size, bits: bits)
        var codes = [UInt8](repeating: 0, count: training.count / size)
        for _ in 0..<rounds {
            assign(training, size, to: entries, &codes)
            let next = means(training, size, codes, entries)
            if next == entries { break }
            entries = next
        }
        return entries
    }

    /// Finds the indices of the nearest entries.
    static func assign(_ points: [Float], _ size: Int, to entries: [Float], _ codes: inout [UInt8]) {
        let count = max(16, entries.count / size)
        // Planar, as the kernel reads them: the first value of each entry, then the second, ..., padded to 16 entries.
        let planes = (0..<size).flatMap { slot in
            (0..<count).map { $0 * size < entries.count ? entries[$0 * size + slot] : .infinity }
        }
        ck_nearest_vectors(points, codes.count, size, planes, count, &codes)
    }

    private static func product(of points: [Float], size: Int, bits: Int) -> [Float] {
        var sorted = points
        var scalars = sorted.withUnsafeMutableBufferPointer { ExactKMeans.centers(of: $0, k: 1 << (bits / size)) }
            .map { Float($0) }
        scalars.append(contentsOf: repeatElement(scalars.last ?? 0, count: 1 << (bits / size) - scalars.count))
        return (0..<1 << bits).flatMap { entry in
            (0..<size).map { scalars[entry >> ($0 * (bits / size)) & (scalars.count - 1)] }
        }
    }

    /// Returns the means of each entry's vectors; entries without vectors move to the vectors farthest from their
    /// entries.
    private static func means(_ points: [Float], _ size: Int, _ codes: [UInt8], _ entries: [Float]) -> [Float] {
        var (sums, counts) = (
            [Double](repeating: 0, count: entries.count), [Int](repeating: 0, count: entries.count / size)
        )
        for (index, code) in codes.enumerated() {
            counts[Int(code)] += 1
            for slot in 0..<size { sums[Int(code) * size + slot] += Double(points[index * size + slot]) }
        }
        var means = entries.indices.map {
            counts[$0 / size] == 0 ? entries[$0] : Float(sums[$0] / Double(counts[$0 / size]))
        }
        let idle = counts.indices.filter { counts[$0] == 0 }
        guard !idle.isEmpty else { return means }
        func distance(_ index: Int) -> Double {
            (0..<size).reduce(0) { sum, slot in
                let error = Double(points[index * size + slot]) - Double(entries[Int(codes[index]) * size + slot])
                return sum + error * error
            }
        }
        let distances = codes.indices.map { (distance: distance($0), index: $0) }.filter { $0.distance > 0 }
        let farthest = distances.sorted { ($1.distance, $0.index) < ($0.distance, $1.index) }
        for (entry, far) in zip(idle, farthest) {
            for slot in 0..<size { means[entry * size + slot] = points[far.index * size + slot] }
        }
        return means
    }
}
