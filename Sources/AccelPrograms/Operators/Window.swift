import AccelByteIO
import AccelTensors

/// How the kernel of a convolution slides over the spatial axes: one number an axis.
public struct Window: Hashable, Sendable {
    public var strides: [Int]
    public var dilations: [Int]
    /// Zeros before the first element of each axis.
    public var before: [Int]
    /// Zeros after the last element of each axis.
    public var after: [Int]

    /// The same numbers on each of `axes` spatial axes.
    public init(axes: Int = 1, stride: Int = 1, dilation: Int = 1, padding: Int = 0) {
        strides = [Int](repeating: stride, count: axes)
        dilations = [Int](repeating: dilation, count: axes)
        before = [Int](repeating: padding, count: axes)
        after = before
    }

    /// One number an axis in each.
    public init(strides: [Int], dilations: [Int], before: [Int], after: [Int]) {
        (self.strides, self.dilations, self.before, self.after) = (strides, dilations, before, after)
    }

    /// - Throws: `OperatorError` for other than 1 to 3 axes and for numbers that no model has.
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

    /// How many spatial axes there are.
    public var axes: Int { strides.count }

    /// The elements that a kernel of `kernel` taps spans.
    func span(of kernel: Int, on axis: Int) -> Int { (kernel - 1) * dilations[axis] + 1 }
}

extension Attributes {
    /// - Parameter count: how many there have to be; nil for any number.
    func integers(_ name: String, count: Int?, in range: ClosedRange<Int>) throws -> [Int] {
        let found = try integers(name)
        guard count == nil || found.count == count, found.allSatisfy(range.contains) else {
            throw OperatorError(
                "attribute \(name): expected \(count.map { "\($0) " } ?? "")integers in \(range), found \(found)")
        }
        return found
    }
}

/// For each position of a convolution's output, the positions of the input that it reads and the taps of the kernel
/// that weigh them.
struct WindowTaps {
    struct Tap {
        var position: Int
        var tap: Int
    }
    /// Taps of output position p: `taps[starts[p]..<starts[p + 1]]`.
    private(set) var starts = [0, 1]
    private(set) var taps = [Tap(position: 0, tap: 0)]

    /// - Parameters, one an axis: the extents of the input, the kernel and the output, and which element of the input an
    ///   element of the output reads by a tap (it may lie outside).
    init(
        inputs: [Int], kernel: [Int], outputs: [Int], reading: (_ axis: Int, _ output: Int, _ tap: Int) -> Int?
    ) {
        for axis in inputs.indices {
            func readable(_ output: Int, _ tap: Int) -> Int? {
                guard let position = reading(axis, output, tap) else { return nil }
                return position >= 0 && position < inputs[axis] ? position : nil
            }
            // Counted first: the lists are long, and one that grows takes three times as much.
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

    /// Bytes of the lists while they are made, and of what else a reference run takes.
    /// - Parameters:
    ///   - strides: of `kernel`'s taps, one in so many reads an element, axis by axis.
    ///   - inputs: what is copied with its axes in another order.
    static func byteCount(outputs: [Int], kernel: [Int], strides: [Int], copying inputs: [Shape]) -> Int {
        let taps = zip(kernel, strides).map { ($0 + $1 - 1) / max($1, 1) }
        let positions = saturatingProduct(outputs)
        let lists = saturatingProduct([
            positions, MemoryLayout<Int>.stride + saturatingProduct(taps + [MemoryLayout<Tap>.stride]),
        ])
        // The list of all axes but the last lies beside that of all.
        let copies = saturatingProduct([MachineMemory.sum(inputs.map { saturatingProduct($0.dimensions) }), 4])
        return MachineMemory.sum([lists, outputs.count > 1 ? lists / max(outputs[outputs.count - 1], 1) : 0, copies])
    }

    /// The sums over taps and channels, in float64, rounded once.
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
