import AccelByteIO
import AccelPrograms
import AccelTensors

extension CodeReach {
    /// Follows the samples of one frame back to the inputs of a vocoder, through the taps of its convolutions. For SNAC at 24 kHz
    /// (rates 8, 8, 4 and 2, kernels of 7 taps with dilations 1, 3 and 9) they reach 2.3 frames to either side.
    /// - Parameters:
    ///   - audio: the name of the output, F32[1, 1, frames * samplesPerFrame].
    ///   - frames: those that the function takes. The last dimension of each input is a multiple of them.
    /// - Throws: `AccelError` (unsupported) for an operator that may read the whole time, such as attention.
    init(of function: FrozenProgram, audio: String, frames: Int) throws(AccelError) {
        let program = function.program
        guard let output = program.outputs.first(where: { $0.name == audio }) else {
            throw AccelError(.notFound, "there is no such output", at: "\(function.functionName), output \"\(audio)\"")
        }
        // The first and the last element of each value's time that the samples of frame 0 depend on, before zeros at its ends are left out.
        var needed = [output.value: 0...max(function.shape(of: output.value).count / max(frames, 1) - 1, 0)]
        for node in program.nodes.reversed() {
            guard let made = node.outputs.compactMap({ needed[$0] }).first else { continue }
            let subject = "\(function.functionName), operator \(node.operation.name) \"\(node.label)\""
            guard let (values, range) = Self.sources(of: node, made, in: program) else {
                throw AccelError(
                    .unsupported, "how far it reaches over time is not known, so that pieces would not be exact",
                    at: subject)
            }
            guard !range.isEmpty else { continue }
            guard range.lowerBound > -1 << 40, range.upperBound < 1 << 40 else {
                throw AccelError(.unsupported, "reaches too far over time", at: subject)
            }
            for value in values {
                let other = needed[value]
                let (low, high) = (range.lowerBound, range.upperBound - 1)
                needed[value] = min(low, other?.lowerBound ?? low)...max(high, other?.upperBound ?? high)
            }
        }
        (before, after) = (0, 0)
        for input in program.inputs {
            guard let range = needed[input.value] else { continue }
            let perFrame = max((function.shape(of: input.value).dimensions.last ?? 1) / max(frames, 1), 1)
            before = max(before, -floored(range.lowerBound, by: perFrame))
            after = max(after, floored(range.upperBound, by: perFrame))
        }
    }

    /// Returns the inputs of a node that have an axis of time, and the elements of them that a range of the output depends on; nil for an
    /// operator that is not known.
    private static func sources(
        of node: Program.Node, _ made: ClosedRange<Int>, in program: Program
    ) -> (values: [Value], range: Range<Int>)? {
        func size(_ value: Value) -> Int? { program.type(of: value).dimensions.last?.value }
        let same = made.lowerBound..<made.upperBound + 1
        switch node.operation {
        case let conv as Conv where conv.window.axes == 1:
            guard let taps = size(node.inputs[1]) else { return nil }
            let (window, stride) = (conv.window, conv.window.strides[0])
            let first = made.lowerBound * stride - window.before[0]
            let last = made.upperBound * stride - window.before[0] + window.dilations[0] * (taps - 1)
            return ([node.inputs[0]], first..<last + 1)
        case let conv as ConvTranspose where conv.window.axes == 1:
            // Element i of the input adds to those from i * stride - before to dilation * (taps - 1) after it.
            guard let taps = size(node.inputs[1]) else { return nil }
            let (window, stride) = (conv.window, conv.window.strides[0])
            let lowest = made.lowerBound + window.before[0] - window.dilations[0] * (taps - 1)
            let first = -floored(-lowest, by: stride)
            let last = floored(made.upperBound + window.before[0], by: stride)
            return ([node.inputs[0]], first..<max(last + 1, first))
        case let resize as Resize where resize.mode == .nearest:
            guard let from = size(node.inputs[0]), let to = size(node.outputs[0]), from > 0, to % from == 0, to >= from
            else { return nil }
            let range = floored(made.lowerBound, by: to / from)..<floored(made.upperBound, by: to / from) + 1
            return ([node.inputs[0]], range)
        case is Gather: return ([node.inputs[1]], same)
        case is Transpose, is Cast, is Snake, is any UnaryOperator: return ([node.inputs[0]], same)
        case is any BinaryOperator: return (node.inputs, same)
        default: return nil
        }
    }
}

/// Returns the quotient, rounded down.
private func floored(_ number: Int, by divisor: Int) -> Int {
    number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor)
}
