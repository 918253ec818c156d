import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension SampleRun {
    /// Returns the activation statistics of the inputs of a weight, at which the samples have to be; nil if there was
    /// no vector.
    /// - Parameter original: a run of the same samples at the same weight with the original weights; nil if this is
    ///   one.
    func statistics(of weight: Int, besides original: SampleRun? = nil) throws -> ActivationStatistics? {
        let (all, columns) = (slices(of: weight), columns(of: weight))
        guard columns > 0 else { return nil }
        let sums = MomentSums(columns: columns, hasDrift: original != nil, slices: all.count)
        var tree = MomentTree(slices.count)
        for slice in all {
            try tree.add(try moments(of: weight, slice, by: sums, besides: original), of: slice, threads: threads)
        }
        return tree.root?.statistics(threads: threads)
    }

    /// The slices whose sums of a weight's inputs are added in a tree: fewer for many columns, whose sums are large.
    func slices(of weight: Int) -> [Range<Int>] {
        let number = columns(of: weight) > Self.mostSlicedColumns ? min(2, slices.count) : slices.count
        return (0..<number).map { slices.count * $0 / number..<slices.count * ($0 + 1) / number }
    }

    private static let mostSlicedColumns = 4096

    /// Returns the sums over the inputs of a weight in some slices, whose samples have to be there.
    /// - Parameters:
    ///   - sums: memory for them.
    ///   - original: as in `statistics`.
    func moments(
        of weight: Int, _ wanted: Range<Int>, by sums: MomentSums, besides original: SampleRun?
    ) throws -> MomentPart {
        let columns = columns(of: weight)
        // With few samples, one of so many vectors is held out instead.
        let share = CalibrationSamples.heldOutShare
        var seen = 0
        for chunk in wanted.flatMap({ slices[$0] }) {
            let mask = mask(of: weight, chunk: chunk)
            let perSample = max(1, call(of: weight, chunk: chunk).positionCount / samples[chunk].count)
            let last = samples[chunk].count - 1
            try withVectors(of: weight, chunk: chunk, columns: columns) { vectors, positions in
                /// The vectors that the sums get, by their index.
                var counted: [Int] = []
                var held: [Int] = []
                for (index, position) in positions.enumerated() where mask?[position] ?? true {
                    let part = sampleCount < share ? seen : samples[chunk][min(position / perSample, last)]
                    seen += 1
                    if CalibrationSamples.isHeldOut(part) { held.append(index) } else { counted.append(index) }
                }
                func add(_ originals: UnsafePointer<Float>?) {
                    for index in held {
                        sums.hold(vectors + index * columns, original: originals.map { $0 + index * columns })
                    }
                    sums.add(counted, of: vectors, originals: originals, threads: threads)
                }
                guard let original else { return add(nil) }
                try original.withVectors(of: weight, chunk: chunk, columns: columns) { originals, _ in add(originals) }
            }
        }
        return sums.takePart(threads: threads)
    }

    /// Returns the positions of a weight's input that take part; nil if all do. A mask whose length differs from the input's,
    /// as after a convolution, does not apply.
    func mask(of weight: Int, chunk: Int) -> [Bool]? {
        let shape = call(of: weight, chunk: chunk).inputs[0].shape
        return shape.dimensions.dropLast().reduce(1, *) == counts[chunk]?.count ? counts[chunk] : nil
    }

    /// Returns the columns of the weight as a matrix; 0 without samples.
    func columns(of weight: Int) -> Int {
        chunks.isEmpty ? 0 : call(of: weight, chunk: 0).inputs[1].shape.columns
    }

    /// Returns the memory for the statistics of some weights, in bytes.
    /// - Parameter original: as in `statistics`.
    /// - Returns: The bytes of all statistics, those of the largest, and the largest temporary addition.
    func statisticsBytes(
        of isWanted: (String) -> Bool, besides original: SampleRun?
    ) -> (all: Int, largest: Int, passing: Int) {
        let hasDrift = original != nil
        var (all, largest, passing) = (0, 0, 0)
        for index in weights.indices where isWanted(weights[index]) {
            let columns = columns(of: index)
            if !sharesInput(withWeightBefore: index) {
                let own = CalibrationMemory.statistics(columns: columns, hasDrift: hasDrift)
                (all, largest) = (MachineMemory.sum([all, own]), max(largest, own))
            }
            let vectors = chunks.map { chunk in
                call(of: index, chunk: chunk).positionCount * columns * MemoryLayout<Float>.stride
            }
            let sums = CalibrationMemory.sums(
                columns: columns, hasDrift: hasDrift, slices: slices(of: index).count)
            let factor = CalibrationMemory.factor(columns: columns, hasDrift: hasDrift)
            let copies = repeatElement(vectors.max() ?? 0, count: hasDrift ? 2 : 1)
            passing = max(passing, MachineMemory.sum([sums] + copies), factor)
        }
        return (all, largest, passing)
    }

    /// Calls `body` with all vectors of a chunk, row-major, and the position of each: those of a convolution have the same ones in
    /// every group.
    private func withVectors(
        of weight: Int, chunk: Int, columns: Int,
        _ body: (_ vectors: UnsafePointer<Float>, _ positions: [Int]) throws -> Void
    ) throws {
        let sizes = call(of: weight, chunk: chunk).inputs[0].shape.dimensions
        let positions = Array(0..<sizes.dropLast().reduce(1, *))
        if sizes.last == columns, try withStoredVectors(of: chunk, { try body($0, positions) }) { return }
        var (vectors, seen): ([Float], [Int]) = ([], [])
        vectors.reserveCapacity(call(of: weight, chunk: chunk).positionCount * columns)
        try forEachVector(of: chunk) { vector, position in
            vectors.append(contentsOf: UnsafeBufferPointer(start: vector, count: columns))
            seen.append(position)
        }
        try vectors.withUnsafeBufferPointer { vectors in
            guard let start = vectors.baseAddress else { return }
            try body(start, seen)
        }
    }
}

extension KernelCall {
    /// The number of vectors that a linear operator, or one group of a convolution, multiplies its weight with.
    fileprivate var positionCount: Int {
        let sizes = (outputs.first ?? inputs[0]).shape.dimensions
        return operation is any LinearOperator
            ? sizes.dropLast().reduce(1, *) : sizes.count > 1 ? sizes[0] * sizes[2...].reduce(1, *) : 1
    }
}
