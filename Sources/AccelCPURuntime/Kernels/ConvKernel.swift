import AccelPrograms
import AccelTensors
import CAccelKernels

/// Convolutions: for some positions at a time, the values that their windows hold become panels of the matrix product with
/// the weight. Where a group has few weights, windows are added up directly.
struct ConvKernel: Kernel {
    static let operators: [any Operator.Type] = [Conv.self]
    /// Rows of the weight that stay in the cache while they meet several panels.
    private static let rowsAtOnce = 128
    let source: OperandMemory
    private let weight: WholeWeight
    private let bias: ChannelBias
    private let target: OperandMemory
    let windows: ConvWindows
    let batch: Int
    let groups: Int
    /// Output channels of a group.
    private let rows: Int
    private let workspace: Workspace

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Conv else { throw Unsuitable("is for conv only") }
        try call.requireContiguousFloats([call.inputs[0], call.outputs[0]])
        (source, target, workspace) = (call.inputs[0], call.outputs[0], call.workspace)
        weight = try WholeWeight(call.inputs[1], in: call.workspace)
        bias = try ChannelBias(call.input("bias"))
        groups = operation.groups
        batch = source.shape.dimensions[0]
        rows = target.shape.dimensions[1] / groups
        windows = ConvWindows(
            operation.window, channels: call.inputs[1].shape.dimensions[1], input: source.shape,
            kernel: call.inputs[1].shape, output: target.shape)
    }

    var reason: String {
        weight.reason + (addsWindows ? "; windows added tap by tap" : "; windows become panels")
    }
    /// A group has few weights.
    private var addsWindows: Bool { windows.isLinear && rows * windows.channels <= 8 }

    var steps: [KernelStep] {
        guard windows.positions > 0 else { return [] }
        return weight.steps + [
            addsWindows
                ? KernelStep(batch * groups * rows) { row, _ in
                    guard let weight = weight.floats, let output = target.contiguousFloats else { return }
                    addWindows(row, weight, output)
                } : multiplying
        ]
    }

    func input(of group: Int) -> UnsafePointer<Float>? {
        source.contiguousFloats.map { UnsafePointer($0) + group * windows.channels * windows.inputPositions }
    }

    private var multiplying: KernelStep {
        let (width, depth, positions) = (Panels.width, windows.depth, windows.positions)
        let panelFloats = width * max(depth, 1)
        let panels = (positions + width - 1) / width
        let panelsAtOnce = max(1, min(8, (1 << 16) / panelFloats, panels))
        let panelGroups = (panels + panelsAtOnce - 1) / panelsAtOnce
        // A piece fills its panels, so rows are divided only where positions alone leave workers idle.
        let blocks = panelGroups * groups * batch < 8 ? (rows + Self.rowsAtOnce - 1) / Self.rowsAtOnce : 1
        let rowsPerBlock = (rows + blocks - 1) / max(blocks, 1)
        return KernelStep(batch * groups * panelGroups * blocks, scratchFloats: panelsAtOnce * panelFloats) {
            piece, memory in
            guard let weight = weight.floats, let output = target.contiguousFloats else { return }
            let (block, part) = (piece % blocks, piece / blocks)
            let (group, first) = (part / panelGroups, part % panelGroups * panelsAtOnce * width)
            guard let input = input(of: group) else { return }
            let end = min(first + panelsAtOnce * width, positions)
            for start in stride(from: first, to: end, by: width) {
                windows.fill(
                    memory + (start - first) / width * panelFloats, width: width,
                    start..<min(start + width, end), of: input)
            }
            let blockEnd = min((block + 1) * rowsPerBlock, rows)
            for row in stride(from: block * rowsPerBlock, to: blockEnd, by: Self.rowsAtOnce) {
                if workspace.isCancelled { return }
                let count = min(Self.rowsAtOnce, blockEnd - row)
                let channel = group % groups * rows + row
                let corner = output + (group * rows + row) * positions
                for start in stride(from: first, to: end, by: width) {
                    ck_gemm_panels(
                        weight + channel * depth, depth, count, depth,
                        memory + (start - first) / width * panelFloats, nil, corner + start, positions,
                        min(width, end - start))
                }
                bias.add(to: corner + first, stride: positions, rows: channel..<channel + count, columns: end - first)
            }
        }
    }

    /// One row of the output, tap by tap.
    private func addWindows(
        _ row: Int, _ weight: UnsafePointer<Float>, _ output: UnsafeMutablePointer<Float>
    ) {
        let (group, channel) = (row / rows, row % (groups * rows))
        guard let input = input(of: group) else { return }
        let result = output + row * windows.positions
        result.update(repeating: bias[channel], count: windows.positions)
        for index in 0..<windows.channels {
            let values = input + index * windows.inputPositions
            for tap in 0..<windows.taps {
                if windows.positions > 1 << 16, workspace.isCancelled { return }
                let factor = weight[channel * windows.depth + index * windows.taps + tap]
                let (reached, start) = windows.reach(of: tap)
                let step = windows.step
                if step == 1 {
                    let shifted = values + start
                    let result = result + reached.lowerBound
                    for count in 0..<reached.count { result[count] += factor * shifted[count] }
                } else {
                    let result = result + reached.lowerBound
                    for count in 0..<reached.count { result[count] += factor * values[start + count * step] }
                }
            }
        }
    }
}
