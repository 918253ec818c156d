import AccelTensors

/// A tensor cut into equal blocks along every axis: `extents[i] / counts[i]` elements long on axis i.
struct WeightBlocks {
    let extents: [Int]
    let counts: [Int]

    /// nil if the blocks do not divide the tensor.
    init?(_ extents: [Int], counts: [Int]) {
        guard extents.count == counts.count, !extents.isEmpty else { return nil }
        for (extent, count) in zip(extents, counts) where count < 1 || extent % count != 0 { return nil }
        (self.extents, self.counts) = (extents, counts)
    }

    /// Calls `body` for each run of elements along the last axis within one block, with the row-major range of the elements, the
    /// index of the first along each axis, and the row-major index of the block.
    func forEachRun(_ body: (_ elements: Range<Int>, _ place: [Int], _ block: Int) -> Void) {
        guard !extents.contains(0), let width = extents.last, let lastCount = counts.last else { return }
        let run = width / lastCount
        var place = [Int](repeating: 0, count: extents.count)
        var start = 0
        while true {
            var row = 0
            for axis in 0..<extents.count - 1 {
                row = row * counts[axis] + place[axis] / (extents[axis] / counts[axis])
            }
            for block in 0..<lastCount {
                place[extents.count - 1] = block * run
                body(start + block * run..<start + (block + 1) * run, place, row * lastCount + block)
            }
            start += width
            var axis = extents.count - 2
            while axis >= 0 {
                place[axis] += 1
                if place[axis] < extents[axis] { break }
                place[axis] = 0
                axis -= 1
            }
            if axis < 0 { return }
        }
    }
}
