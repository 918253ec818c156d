import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("Convolutions and norms over positions in the executor")
struct ConvolutionTests {
    /// Larger than a panel and a block of rows, with ragged ends.
    struct Layer: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let operation: any Operator
        let input: Shape
        let weight: Shape
        var outputs = 0
    }

    static let layers: [Layer] = [
        Layer(
            testDescription: "dilated", operation: Conv(Window(dilation: 5, padding: 10)), input: [2, 5, 45],
            weight: [131, 5, 5]),
        Layer(
            testDescription: "strided groups",
            operation: Conv(Window(strides: [3], dilations: [2], before: [4], after: [1]), groups: 2),
            input: [2, 8, 70],
            weight: [18, 4, 3]),
        Layer(testDescription: "one tap", operation: Conv(), input: [1, 40, 150], weight: [33, 40, 1]),
        Layer(
            testDescription: "depthwise", operation: Conv(Window(padding: 3), groups: 9), input: [2, 9, 60],
            weight: [9, 1, 7]),
        Layer(
            testDescription: "depthwise strided",
            operation: Conv(Window(stride: 4, dilation: 3, padding: 5), groups: 3),
            input: [1, 3, 61], weight: [6, 1, 5]),
        Layer(
            testDescription: "patches", operation: Conv(Window(axes: 2, stride: 4)), input: [2, 3, 20, 28],
            weight: [10, 3, 4, 4]),
        Layer(
            testDescription: "planes with edges",
            operation: Conv(Window(strides: [1, 2], dilations: [2, 1], before: [3, 1], after: [0, 2])),
            input: [1, 4, 9, 23], weight: [12, 4, 3, 3]),
        Layer(
            testDescription: "volumes", operation: Conv(Window(axes: 3, padding: 1)), input: [1, 2, 4, 5, 6],
            weight: [7, 2, 3, 2, 3]),
        Layer(
            testDescription: "window wider than the input", operation: Conv(Window(padding: 40)), input: [1, 6, 5],
            weight: [4, 6, 33]),
        Layer(
            testDescription: "upsampling", operation: ConvTranspose(Window(stride: 10, padding: 5)),
            input: [2, 12, 33],
            weight: [12, 140, 20], outputs: 140),
        Layer(
            testDescription: "upsampling, depthwise",
            operation: ConvTranspose(Window(stride: 2, padding: 1), outputPadding: [1], groups: 6), input: [1, 6, 41],
            weight: [6, 1, 3], outputs: 6),
        Layer(
            testDescription: "stride beyond the kernel", operation: ConvTranspose(Window(stride: 5), groups: 2),
            input: [1, 4, 20], weight: [4, 3, 3], outputs: 6),
        Layer(
            testDescription: "dilated upsampling", operation: ConvTranspose(Window(stride: 4, dilation: 3, padding: 2)),
            input: [1, 7, 25], weight: [7, 5, 6], outputs: 5),
    ]

    private func program(_ layer: Layer, hasBias: Bool = true, codec: String = "float32") throws -> SmallProgram {
        try SmallProgram(compress: codec) { maker in
            var operands = [maker.input(layer.input), maker.weight(layer.weight)]
            if hasBias {
                operands.append(maker.weight([layer.outputs == 0 ? layer.weight.dimensions[0] : layer.outputs]))
            }
            return [try maker.builder.apply(layer.operation, operands)]
        }
    }

    @Test("equal bits for any number of threads, close to the reference, by a kernel", arguments: layers)
    func threads(layer: Layer) throws {
        for hasBias in [true, false] {
            let program = try program(layer, hasBias: hasBias)
            let names = try Executor(program.program).kernelNames
            #expect(names == [layer.operation is Conv ? "ConvKernel" : "ConvTransposeKernel"])
            let single = try program.run(threads: 1)
            for threads in [2, 5] { #expect(try program.run(threads: threads) == single) }
            for (found, expected) in zip(single, try program.reference()) {
                #expect(agree(found, expected, tolerance: 2e-6))
            }
        }
    }

    @Test("weights of every codec are read as the codec decodes them", arguments: Codecs.all.map { $0.name })
    func compressed(codec: String) throws {
        for layer in [layers[0], layers[9]] {
            let program = try program(layer, codec: codec)
            for (found, expected) in zip(try program.run(threads: 2), try program.reference()) {
                #expect(agree(found, expected, tolerance: 2e-6))
            }
        }
    }

    private var layers: [Layer] { Self.layers }

    @Test("norms over positions and waves, over many rows")
    func norms() throws {
        let program = try SmallProgram { maker in
            let x = maker.input([3, 14, 4133])
            let lengths = maker.input(HostTensor([1, 4133, 700] as [Int64], [3]))
            let (scale, shift) = (maker.input([3, 14]), maker.input([3, 14]))
            let normal = try maker.builder.apply(InstanceNorm(epsilon: 1e-5), [x, scale, shift, lengths])
            let alpha = maker.weight(HostTensor((0..<14).map { Float($0) / 4 + 0.1 }, [1, 14, 1]))
            let waves = try maker.builder.apply(Snake(epsilon: 1e-9), [normal, alpha])
            let groups = try maker.builder.apply(
                GroupNorm(groups: 2, epsilon: 1e-5), [waves, maker.weight([14]), maker.weight([14])])
            return [normal, waves, groups, try maker.builder.apply(LeakyRelu(slope: 0.1), [waves])]
        }
        #expect(try ExecutionPlan(program.program, function: 0).choices.allSatisfy { $0.staged.isEmpty })
        let single = try program.run(threads: 1)
        #expect(try program.run(threads: 3) == single)
        for (found, expected) in zip(single, try program.reference()) {
            #expect(agree(found, expected, tolerance: 2e-6))
        }
    }

    @Test("a number of valid positions that there cannot be is rejected")
    func lengths() throws {
        let program = try SmallProgram { maker in
            let lengths = maker.input(HostTensor([9] as [Int64], []))
            return [try maker.builder.apply(InstanceNorm(epsilon: 1e-5), [maker.input([1, 2, 8]), lengths])]
        }
        #expect(throws: (any Error).self) { try program.run() }
    }
}
