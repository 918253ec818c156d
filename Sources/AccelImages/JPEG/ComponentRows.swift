import AccelByteIO

/// The rows of a component at the size of the whole picture.
///
/// The standard leaves open how the missing samples are made. Where there are half as many in a direction, each pixel has three quarters of
/// its own sample and one of the nearest other one, as in the usual libraries; other ratios repeat the samples.
struct ComponentRows {
    private let samples: [UInt8]
    /// The distance of two rows in memory, and the samples without those that fill blocks.
    private let stride, width, height: Int
    /// The pixels of a sample.
    private let across, down: Int
    /// The sums of two rows.
    private var sums: [Int]
    private var row: [UInt8]

    init(_ component: JPEGFrame.Component, of frame: JPEGFrame) {
        samples = InverseTransform.samples(of: component, steps: component.steps ?? [])
        (stride, width, height) = (component.stride * 8, component.width, component.height)
        (across, down) = (frame.across / component.across, frame.down / component.down)
        sums = [Int](repeating: 0, count: width)
        row = [UInt8](repeating: 0, count: width * across)
    }

    /// Calls `body` with a row of the picture, which may have more pixels than the picture.
    mutating func withRow(_ y: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        if across == 1, down == 1 {
            samples.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[y * stride..<y * stride + width])) }
            return
        }
        let isSmooth = across == 1 && down == 2 || across == 2 && down <= 2 && width > 2
        if isSmooth {
            addRows(y)
            if across == 2 { smoothPairs(isSum: down == 2) } else { smoothRow(y) }
        } else {
            for x in 0..<row.count { row[x] = samples[y / down * stride + x / across] }
        }
        row.withUnsafeBufferPointer(body)
    }

    /// Adds three times the row of the pixels and the nearest other one, where there are half as many rows; else takes the row itself.
    private mutating func addRows(_ y: Int) {
        let near = y / down
        let far = min(max(y.isMultiple(of: 2) ? near - 1 : near + 1, 0), height - 1)
        for x in 0..<width {
            let sample = Int(samples[near * stride + x])
            sums[x] = down == 2 ? 3 * sample + Int(samples[far * stride + x]) : sample
        }
    }

    /// The quarters of rounding alternate between rows, so that the mean stays.
    private mutating func smoothRow(_ y: Int) {
        let rounding = y.isMultiple(of: 2) ? 1 : 2
        for x in 0..<width { row[x] = UInt8((sums[x] + rounding) >> 2) }
    }

    /// Two pixels for each sum: it is four times a sample or one, and the rounding alternates.
    private mutating func smoothPairs(isSum: Bool) {
        let (shift, left, right) = isSum ? (4, 8, 7) : (2, 1, 2)
        for x in 0..<width {
            let sum = sums[x]
            row[2 * x] = UInt8((3 * sum + sums[max(x - 1, 0)] + left) >> shift)
            row[2 * x + 1] = UInt8((3 * sum + sums[min(x + 1, width - 1)] + right) >> shift)
        }
    }
}
