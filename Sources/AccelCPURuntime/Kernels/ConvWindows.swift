import AccelPrograms
import AccelTensors

/// Which elements of the input the windows of a convolution hold.
struct ConvWindows: Sendable {
    /// Input channels of a group.
    let channels: Int
    let inputPositions: Int
    /// Positions of the output.
    let positions: Int
    /// Taps of the kernel.
    let taps: Int
    /// Elements in a window: taps of each channel.
    var depth: Int { channels * taps }
    private let window: Window
    private let input: [Int]
    private let kernel: [Int]
    private let output: [Int]
    private let last: Int

    init(_ window: Window, channels: Int, input: Shape, kernel: Shape, output: Shape) {
        self.window = window
        self.channels = channels
        self.input = Array(input.dimensions[2...])
        self.kernel = Array(kernel.dimensions[2...])
        self.output = Array(output.dimensions[2...])
        last = self.input.count - 1
        inputPositions = self.input.reduce(1, *)
        positions = self.output.reduce(1, *)
        taps = self.kernel.reduce(1, *)
        reaches = []
        reaches = (0..<self.kernel[last]).map(reach)
    }

    /// There is one spatial axis.
    var isLinear: Bool { last == 0 }
    /// From one position's element to the next position's, on the last axis.
    var step: Int { window.strides[last] }

    /// Positions on the last axis whose window's `tap` lies within the input, and where it lies for the first of them.
    func reach(of tap: Int) -> (positions: Range<Int>, start: Int) {
        let shift = tap * window.dilations[last] - window.before[last]
        let first = shift >= 0 ? 0 : (-shift + step - 1) / step
        let beyond = input[last] - shift <= 0 ? 0 : (input[last] - shift + step - 1) / step
        let end = max(first, min(output[last], beyond))
        return (first..<end, first * step + shift)
    }

    /// The result of `reach` for each tap of the last axis.
    private var reaches: [(positions: Range<Int>, start: Int)]

    /// Writes a panel [depth][width]: column c holds the window of position `range.lowerBound + c` of `values`, the
    /// channels of one group. Elements outside of the input are 0, and so are columns past the range.
    func fill(
        _ panel: UnsafeMutablePointer<Float>, width: Int, _ range: Range<Int>, of values: UnsafePointer<Float>
    ) {
        if range.count < width { panel.update(repeating: 0, count: width * depth) }
        let (rowTaps, rowLength) = (kernel[last], output[last])
        var start = range.lowerBound
        while start < range.upperBound {
            // Positions in one row of the output.
            let (row, first) = (start / rowLength, start % rowLength)
            let count = min(rowLength - first, range.upperBound - start)
            for outer in 0..<taps / max(rowTaps, 1) {
                let source = self.row(row, tap: outer)
                for channel in 0..<channels {
                    let line = source.map { values + channel * inputPositions + $0 }
                    let target = panel + (channel * taps + outer * rowTaps) * width + (start - range.lowerBound)
                    for tap in 0..<rowTaps {
                        copy(line, reaches[tap], first..<first + count, to: target + tap * width)
                    }
                }
            }
            start += count
        }
    }

    /// Where the row of the input starts that a row of the output reads by an outer tap; nil: outside of the input.
    private func row(_ row: Int, tap: Int) -> Int? {
        var (row, tap, start, scale) = (row, tap, 0, input[last])
        for axis in stride(from: last - 1, through: 0, by: -1) {
            let coordinate =
                row % output[axis] * window.strides[axis] + tap % kernel[axis] * window.dilations[axis]
                - window.before[axis]
            guard coordinate >= 0, coordinate < input[axis] else { return nil }
            start += coordinate * scale
            scale *= input[axis]
            row /= output[axis]
            tap /= kernel[axis]
        }
        return start
    }

    @inline(__always)
    private func copy(
        _ line: UnsafePointer<Float>?, _ reach: (positions: Range<Int>, start: Int), _ wanted: Range<Int>,
        to target: UnsafeMutablePointer<Float>
    ) {
        let inside = reach.positions.clamped(to: wanted)
        guard let line, !inside.isEmpty else {
            target.update(repeating: 0, count: wanted.count)
            return
        }
        let before = inside.lowerBound - wanted.lowerBound
        for index in 0..<before { target[index] = 0 }
        let source = line + reach.start + (inside.lowerBound - reach.positions.lowerBound) * step
        let part = target + before
        if step == 1 {
            for index in 0..<inside.count { part[index] = source[index] }
        } else {
            for index in 0..<inside.count { part[index] = source[index * step] }
        }
        for index in before + inside.count..<wanted.count { target[index] = 0 }
    }
}
