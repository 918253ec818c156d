import AccelPrograms
import AccelTensors

/// Transposed convolutions over any number of axes, each output by the elements of the input that reach it, in float64.
struct ConvTransposeAxesKernel: Kernel {
    static let operators: [any Operator.Type] = [ConvTranspose.self]
    private struct Tap: Sendable {
        let position: Int
        let tap: Int
    }
    private let source: OperandMemory
    private let weight: WholeWeight
    private let bias: ChannelBias
    private let target: OperandMemory
    private let batch: Int
    private let groups: Int
    /// Channels of a group, of the input and of the output.
    private let (channels, rows): (Int, Int)
    private let (positions, outputs, kernel): (Int, Int, Int)
    /// For three axes, of which the first may have one element: which elements reach each index, by which taps.
    private let taps: [[[Tap]]]
    /// Input [batch and group][position][channel], weight [output channel][tap][channel].
    private let (transposedInput, transposedWeight): (MemoryLocation, MemoryLocation)

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? ConvTranspose else { throw Unsuitable("is for conv_transpose only") }
        try call.requireContiguousFloats([call.inputs[0], call.outputs[0]])
        (source, target) = (call.inputs[0], call.outputs[0])
        weight = try WholeWeight(call.inputs[1], in: call.workspace)
        bias = try ChannelBias(call.input("bias"))
        (groups, batch) = (operation.groups, source.shape.dimensions[0])
        (channels, rows) = (source.shape.dimensions[1] / groups, target.shape.dimensions[1] / groups)
        let window = operation.window
        let (inputs, taps, outputs) = (
            Array(source.shape.dimensions[2...]), Array(call.inputs[1].shape.dimensions[2...]),
            Array(target.shape.dimensions[2...])
        )
        (positions, kernel) = (inputs.reduce(1, *), taps.reduce(1, *))
        self.outputs = outputs.reduce(1, *)
        var (position, tap) = (1, 1)
        var lists: [[[Tap]]] = []
        for axis in inputs.indices.reversed() {
            lists.append(
                (0..<outputs[axis]).map { output in
                    (0..<taps[axis]).compactMap { number in
                        let distance = output + window.before[axis] - number * window.dilations[axis]
                        let index = distance / window.strides[axis]
                        guard distance >= 0, distance % window.strides[axis] == 0, index < inputs[axis] else {
                            return nil
                        }
                        return Tap(position: index * position, tap: number * tap)
                    }
                })
            position *= inputs[axis]
            tap *= taps[axis]
        }
        while lists.count < 3 { lists.append([[Tap(position: 0, tap: 0)]]) }
        self.taps = lists.reversed()
        transposedInput = call.workspace.reserve(floats: batch * groups * positions * channels)
        transposedWeight = call.workspace.reserve(floats: groups * rows * kernel * channels)
    }

    var cost: Double { 100 }
    var reason: String { weight.reason + "; products in float64" }

    var steps: [KernelStep] {
        let (positions, channels, outputs) = (positions, channels, outputs)
        let turningInput = KernelStep.rows(batch * groups * positions, width: channels) { rows in
            guard let x = source.contiguousFloats else { return }
            for row in rows {
                let (from, to) = (
                    x + row / positions * channels * positions + row % positions,
                    floats(transposedInput) + row * channels
                )
                for channel in 0..<channels { to[channel] = from[channel * positions] }
            }
        }
        let turningWeight = KernelStep(groups * rows) { row, _ in
            guard let weight = weight.floats else { return }
            let target = floats(transposedWeight) + row * kernel * channels
            let (group, own) = (row / rows, row % rows)
            for tap in 0..<kernel {
                for channel in 0..<channels {
                    target[tap * channels + channel] =
                        weight[
                            ((group * channels + channel) * rows + own) * kernel + tap]
                }
            }
        }
        let adding = KernelStep.rows(batch * groups * rows * outputs, width: kernel * channels, elements: 1 << 16) {
            elements in
            guard let target = target.contiguousFloats else { return }
            for element in elements {
                let (row, output) = (element / outputs, element % outputs)
                let channel = row % (groups * rows)
                let source = floats(transposedInput) + row / rows * positions * channels
                let weight = floats(transposedWeight) + channel * kernel * channels
                target[element] = Float(sum(output, source, weight, from: Double(bias[channel])))
            }
        }
        return weight.steps + [turningInput, turningWeight, adding]
    }

    private func sum(
        _ output: Int, _ source: UnsafePointer<Float>, _ weight: UnsafePointer<Float>, from start: Double
    ) -> Double {
        let (middle, last) = (taps[1].count, taps[2].count)
        var sum = start
        let (first, second, third) = (
            taps[0][output / last / middle], taps[1][output / last % middle], taps[2][output % last]
        )
        for i in 0..<first.count {
            for j in 0..<second.count {
                for k in 0..<third.count {
                    let (a, b, c) = (first[i], second[j], third[k])
                    let (position, tap) = (a.position + b.position + c.position, a.tap + b.tap + c.tap)
                    sum += Reference.dot(
                        UnsafeBufferPointer(start: source + position * channels, count: channels), 0,
                        UnsafeBufferPointer(start: weight + tap * channels, count: channels), 0, channels)
                }
            }
        }
        return sum
    }

    private func floats(_ location: MemoryLocation) -> UnsafeMutablePointer<Float> {
        location.start.assumingMemoryBound(to: Float.self)
    }
}
