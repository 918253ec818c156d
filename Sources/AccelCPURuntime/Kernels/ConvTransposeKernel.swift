import AccelPrograms
import AccelTensors
import CAccelKernels

/// Transposed convolutions over one axis. Outputs that are `stride` apart read the same taps of the kernel: each such phase
/// is a convolution, a matrix product of its taps with the windows that they reach.
struct ConvTransposeKernel: Kernel {
    static let operators: [any Operator.Type] = [ConvTranspose.self]
    private static let rowsAtOnce = 128
    /// The outputs `first`, `first + stride`, ...
    private struct Phase: Sendable {
        let first: Int
        let count: Int
        /// Taps of the kernel, and how far before output q's index their elements lie.
        let taps: [(tap: Int, shift: Int)]
        /// Taps of the phases before.
        let tapsBefore: Int
    }
    private let source: OperandMemory
    private let weight: WholeWeight
    private let bias: ChannelBias
    private let target: OperandMemory
    private let phases: [Phase]
    /// The number of taps of all phases.
    private let allTaps: Int
    private let stride: Int
    private let batch: Int
    private let groups: Int
    /// Input channels of a group.
    private let channels: Int
    /// Output channels of a group.
    private let rows: Int
    private let taps: Int
    private let (length, positions): (Int, Int)
    /// The taps of each phase together: [group][phase][row][tap and channel].
    private let matrices: MemoryLocation
    /// The first panel of each phase, and their number.
    private let panelStarts: [Int]

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? ConvTranspose else { throw Unsuitable("is for conv_transpose only") }
        try call.require(operation.window.axes == 1, "takes one spatial axis, not \(operation.window.axes)")
        try call.requireContiguousFloats([call.inputs[0], call.outputs[0]])
        (source, target) = (call.inputs[0], call.outputs[0])
        weight = try WholeWeight(call.inputs[1], in: call.workspace)
        bias = try ChannelBias(call.input("bias"))
        (groups, stride) = (operation.groups, operation.window.strides[0])
        (batch, length) = (source.shape.dimensions[0], source.shape.dimensions[2])
        (channels, rows) = (source.shape.dimensions[1] / groups, target.shape.dimensions[1] / groups)
        (taps, positions) = (call.inputs[1].shape.dimensions[2], target.shape.dimensions[2])
        let window = operation.window
        var tapsBefore = 0
        phases = (0..<min(stride, positions)).map { [stride, taps, positions] first in
            let reached = (0..<taps).compactMap { tap -> (tap: Int, shift: Int)? in
                let shift = first + window.before[0] - tap * window.dilations[0]
                return shift % stride == 0 ? (tap, shift / stride) : nil
            }
            let count = (positions - first + stride - 1) / stride
            defer { tapsBefore += reached.count }
            return Phase(first: first, count: count, taps: reached, tapsBefore: tapsBefore)
        }
        allTaps = tapsBefore
        matrices = call.workspace.reserve(floats: groups * rows * taps * channels)
        let width = Panels.width
        panelStarts = phases.reduce(into: [0]) { $0.append($0[$0.count - 1] + ($1.count + width - 1) / width) }
    }

    var reason: String { weight.reason + "; one matrix product for each of \(phases.count) phases" }

    var steps: [KernelStep] {
        guard positions > 0 else { return [] }
        let width = Panels.width
        let panels = panelStarts[phases.count]
        let depth = (phases.map(\.taps.count).max() ?? 0) * channels
        let permuting = KernelStep(groups * rows) { row, _ in
            guard let floats = weight.floats else { return }
            permute(row, floats, into: matrices.start.assumingMemoryBound(to: Float.self))
        }
        let multiplying = KernelStep(
            batch * groups * panels, scratchFloats: width * (depth + Self.rowsAtOnce)
        ) { piece, memory in
            guard let output = target.contiguousFloats else { return }
            let (group, panel) = (piece / panels, piece % panels)
            var index = 0
            while panelStarts[index + 1] <= panel { index += 1 }
            multiply(
                group, index, (panel - panelStarts[index]) * width,
                matrices.start.assumingMemoryBound(to: Float.self), memory, output)
        }
        return weight.steps + [permuting, multiplying]
    }

    /// Copies one output channel's weights [channel of the input][row][tap] to the phases' matrices.
    private func permute(
        _ index: Int, _ weight: UnsafePointer<Float>, into matrices: UnsafeMutablePointer<Float>
    ) {
        let (group, row) = (index / rows, index % rows)
        var matrix = matrices + group * rows * channels * allTaps
        for number in 0..<phases.count {
            let phase = phases[number]
            let depth = phase.taps.count * channels
            var target = matrix + row * depth
            for index in 0..<phase.taps.count {
                let tap = phase.taps[index].tap
                for channel in 0..<channels {
                    target[channel] = weight[((group * channels + channel) * rows + row) * taps + tap]
                }
                target += channels
            }
            matrix += rows * depth
        }
    }

    /// Outputs `first`, `first + 1`, ... of a phase, as many as a panel has.
    private func multiply(
        _ group: Int, _ index: Int, _ first: Int, _ matrices: UnsafePointer<Float>,
        _ memory: UnsafeMutablePointer<Float>, _ output: UnsafeMutablePointer<Float>
    ) {
        guard let source = source.contiguousFloats else { return }
        let (phase, width) = (phases[index], Panels.width)
        let (count, depth) = (min(width, phase.count - first), phase.taps.count * channels)
        let input = source + group * channels * length
        for number in 0..<phase.taps.count {
            let begin = first + phase.taps[number].shift
            let inside = (0..<count).clamped(to: -begin..<max(-begin, length - begin))
            for channel in 0..<channels {
                let panel = memory + (number * channels + channel) * width
                panel.update(repeating: 0, count: width)
                let line = input + channel * length + begin
                for column in inside { panel[column] = line[column] }
            }
        }
        let matrix = matrices + (group % groups * allTaps + phase.tapsBefore) * rows * channels
        let products = memory + depth * width
        for row in Swift.stride(from: 0, to: rows, by: Self.rowsAtOnce) {
            let block = min(Self.rowsAtOnce, rows - row)
            ck_gemm_panels(matrix + row * depth, depth, block, depth, memory, nil, products, width, count)
            let channel = group % groups * rows + row
            bias.add(to: products, stride: width, rows: channel..<channel + block, columns: count)
            for line in 0..<block {
                let target = output + (group * rows + row + line) * positions + phase.first + first * stride
                for column in 0..<count { target[column * stride] = products[line * width + column] }
            }
        }
    }
}
