import AccelByteIO
import AccelTensors

/// Strides, dilations and paddings of a convolution, with one number per spatial axis.
public struct Window: Hashable, Sendable {
    /// Elements between two positions of the kernel.
    public var strides: [Int]
    /// Elements between two taps of the kernel.
    public var dilations: [Int]
    /// Zeros added before the first element.
    public var before: [Int]
    /// Zeros added after the last element.
    public var after: [Int]

    /// Creates a window with equal numbers on each of `axes` spatial axes.
    public init(axes: Int = 1, stride: Int = 1, dilation: Int = 1, padding: Int = 0) {
        strides = [Int](repeating: stride, count: axes)
        dilations = [Int](repeating: dilation, count: axes)
        before = [Int](repeating: padding, count: axes)
        after = before
    }

    /// Creates a window. Each list has one number per spatial axis.
    public init(strides: [Int], dilations: [Int], before: [Int], after: [Int]) {
        (self.strides, self.dilations, self.before, self.after) = (strides, dilations, before, after)
    }

    /// - Throws: `OperatorError` for other than 1 to 3 axes, and for numbers out of range.
    init(attributes: Attributes) throws {
        strides = try attributes.integers("strides", count: nil, in: 1...1 << 20)
        guard (1...3).contains(strides.count) else {
            throw OperatorError("attribute strides: expected 1 to 3 integers, found \(strides.count)")
        }
        dilations = try attributes.integers("dilations", count: strides.count, in: 1...1 << 20)
        before = try attributes.integers("padding_before", count: strides.count, in: 0...1 << 20)
        after = try attributes.integers("padding_after", count: strides.count, in: 0...1 << 20)
    }

    var attributes: Attributes {
        [
            "strides": .integers(strides), "dilations": .integers(dilations), "padding_before": .integers(before),
            "padding_after": .integers(after),
        ]
    }

    /// The number of spatial axes.
    public var axes: Int { strides.count }

    /// Returns the number of input elements from the first to the last tap of a kernel with `kernel` taps.
    func span(of kernel: Int, on axis: Int) -> Int { (kernel - 1) * dilations[axis] + 1 }
}

extension Attributes {
    /// Reads integers in a range.
    /// - Parameter count: the expected number of them; nil for any.
    func integers(_ name: String, count: Int?, in range: ClosedRange<Int>) throws -> [Int] {
        let found = try integers(name)
        guard count == nil || found.count == count, found.allSatisfy(range.contains) else {
            throw OperatorError(
                "attribute \(name): expected \(count.map { "\($0) " } ?? "")integers in \(range), found \(found)")
        }
        return found
    }
}

/// For each output position of a convolution, the input positions that it reads and the kernel taps that weigh them.
struct WindowTaps {
    struct Tap {
        var position: Int
        var tap: Int
    }
    /// The taps of output position p are `taps[starts[p]..<starts[p + 1]]`.
    private(set) var starts = [0, 1]
    private(set) var taps = [Tap(position: 0, tap: 0)]

    /// Each list has one number per axis: the size of the input, the kernel and the output.
    /// - Parameter reading: returns the input position of an output position and a tap; it may be out of range.
    init(
        inputs: [Int], kernel: [Int], outputs: [Int], reading: (_ axis: Int, _ output: Int, _ tap: Int) -> Int?
    ) {
        for axis in inputs.indices {
            func readable(_ output: Int, _ tap: Int) -> Int? {
                guard let position = reading(axis, output, tap) else { return nil }
                return position >= 0 && position < inputs[axis] ? position : nil
            }
            // Counted first: the lists are long, and growing them by appending takes three times the memory.
            let counts = (0..<outputs[axis]).reduce(into: 0) { count, output in
                for tap in 0..<kernel[axis] where readable(output, tap) != nil { count += 1 }
            }
            var (newStarts, newTaps): ([Int], [Tap]) = ([0], [])
            newStarts.reserveCapacity((starts.count - 1) * outputs[axis] + 1)
            newTaps.reserveCapacity(taps.count * counts)
            for outer in 0..<starts.count - 1 {
                for output in 0..<outputs[axis] {
                    for left in taps[starts[outer]..<starts[outer + 1]] {
                        for tap in 0..<kernel[axis] {
                            guard let position = readable(output, tap) else { continue }
                            newTaps.append(
                                Tap(
                                    position: left.position * inputs[axis] + position,
                                    tap: left.tap * kernel[axis] + tap))
                        }
                    }
                    newStarts.append(newTaps.count)
                }
            }
            (starts, taps) = (newStarts, newTaps)
        }
    }

    /// Returns the bytes of the lists while they are made, plus the other temporary memory of a reference run.
    /// - Parameters:
    ///   - strides: one of so many taps reads an input element, for each axis.
    ///   - inputs: the tensors that are copied with permuted axes.
    static func byteCount(outputs: [Int], kernel: [Int], strides: [Int], copying inputs: [Shape]) -> Int {
        let taps = zip(kernel, strides).map { ($0 + $1 - 1) / max($1, 1) }
        let positions = saturatingProduct(outputs)
        let lists = saturatingProduct([
            positions, MemoryLayout<Int>.stride + saturatingProduct(taps + [MemoryLayout<Tap>.stride]),
        ])
        // While the last axis is added, the list of the other axes is still in memory.
        let copies = saturatingProduct([MachineMemory.sum(inputs.map { saturatingProduct($0.dimensions) }), 4])
        return MachineMemory.sum([lists, outputs.count > 1 ? lists / max(outputs[outputs.count - 1], 1) : 0, copies])
    }

    /// Returns the sums over taps and channels, computed in float64 and rounded once.
    /// - Parameters:
    ///   - x: [batch * groups, input positions, width]
    ///   - weight: [groups * rows, taps, width]
    ///   - bias: [groups * rows]
    /// - Returns: [batch * groups * rows, output positions]
    func sums(
        _ x: HostTensor, _ weight: HostTensor, bias: [Float]?, batch: Int, groups: Int
    ) -> [Float] {
        let (inputs, kernel, width) = (x.shape.dimensions[1], weight.shape.dimensions[1], x.shape.dimensions[2])
        let channels = weight.shape.dimensions[0]
        let (x, weight) = (x.floats, weight.floats)
        let outputs = starts.count - 1
        return Reference.rows(batch * channels, width: outputs) { row, result in
            let channel = row % channels
            let source = (row / channels * groups + channel / (channels / groups)) * inputs
            x.withUnsafeBufferPointer { x in
                weight.withUnsafeBufferPointer { weight in
                    for output in 0..<outputs {
                        var sum = bias.map { Double($0[channel]) } ?? 0
                        for tap in taps[starts[output]..<starts[output + 1]] {
                            sum += Reference.dot(
                                x, (source + tap.position) * width, weight, (channel * kernel + tap.tap) * width, width)
                        }
                        result[output] = Float(sum)
                    }
                }
            }
        }
    }
}
