import AccelTensors

/// A tensor cut into equal blocks along every axis: `sizes[i] / counts[i]` elements long on axis i.
struct WeightBlocks {
    let sizes: [Int]
    let counts: [Int]

    /// nil if the blocks do not divide the tensor.
    init?(_ sizes: [Int], counts: [Int]) {
        guard sizes.count == counts.count, !sizes.isEmpty else { return nil }
        for (size, count) in zip(sizes, counts) where count < 1 || size % count != 0 { return nil }
        (self.sizes, self.counts) = (sizes, counts)
    }

    /// Calls `body` for each run of elements along the last axis within one block, with the row-major range of the elements, the
    /// index of the first along each axis, and the row-major index of the block.
    func forEachRun(_ body: (_ elements: Range<Int>, _ coordinates: [Int], _ block: Int) -> Void) {
        guard !sizes.contains(0), let width = sizes.last, let lastCount = counts.last else { return }
        let run = width / lastCount
        var coordinates = [Int](repeating: 0, count: sizes.count)
        var start = 0
        while true {
            var row = 0
            for axis in 0..<sizes.count - 1 {
                row = row * counts[axis] + coordinates[axis] / (sizes[axis] / counts[axis])
            }
            for block in 0..<lastCount {
                coordinates[sizes.count - 1] = block * run
                body(start + block * run..<start + (block + 1) * run, coordinates, row * lastCount + block)
            }
            start += width
            var axis = sizes.count - 2
            while axis >= 0 {
                coordinates[axis] += 1
                if coordinates[axis] < sizes[axis] { break }
                coordinates[axis] = 0
                axis -= 1
            }
            if axis < 0 { return }
        }
    }
}
