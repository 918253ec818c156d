import AccelPrograms
import AccelTensors

/// A load for every operator of the registry; most have one of short rows and one of a single long row, whose work is
/// divided differently. Each is made when it is its turn: they take up to 400 MB.
struct OperatorLoads {
    typealias Make = @Sendable () throws -> OperatorLoad
    /// The sides of matrices and images are divided by this power of 2, at most 16; the elements of a large tensor by its square.
    let scale: Int
    /// Elements of a large tensor.
    private var many: Int { (1 << 24) / (scale * scale) }
    private var rows: Int { many / 64 }
    private func side(_ size: Int) -> Int { size / scale }

    var all: [(operation: String, loads: [Make])] { elementwise + alongAxes + moving + products + windows }

    private func load(
        _ note: String, _ operation: any Operator, _ inputs: [OperatorLoad.Operand], weights: Int = .max,
        codec: String = "float32"
    ) -> Make {
        { try OperatorLoad(note, operation, inputs, weights: weights, codec: codec) }
    }

    private func entry(_ operation: any Operator, _ loads: Make...) -> (String, [Make]) {
        (operation.name, loads)
    }

    private var elementwise: [(String, [Make])] {
        let unary: [any Operator] = [
            Gelu(.erf), Relu(), Sigmoid(), Silu(), Tanh(), Negate(), Exp(), Erf(), Log(), Sqrt(), Rsqrt(), Sin(), Cos(),
            Floor(), LeakyRelu(slope: 0.2), Elu(alpha: 0.75),
        ]
        let binary: [any Operator] = [
            Add(), Subtract(), Multiply(), Divide(), Maximum(), Minimum(), Power(), Modulo(), Atan2(), Compare(.less),
        ]
        return unary.map { entry($0, load("one row", $0, [.floats(1, many)]), load("rows", $0, [.floats(rows, 64)])) }
            + binary.map {
                entry(
                    $0, load("one row", $0, [.floats(1, many), .floats(1, many)]),
                    load("rows and a vector", $0, [.floats(rows, 64), .floats(64)]),
                    load("a column and rows", $0, [.floats(rows, 1), .floats(rows, 64)]))
            } + [
                entry(Copy(), load("one row", Copy(), [.floats(1, many)])),
                entry(
                    Cast(to: .int64), load("to integers", Cast(to: .int64), [.floats(1, many)]),
                    load("to numbers", Cast(to: .float32), [.integers(below: 99, many)])),
                entry(
                    Select(), load("one row", Select(), [.flags(1, many), .floats(1, many), .floats(1, many)]),
                    load("rows", Select(), [.flags(rows, 1), .floats(rows, 64), .floats()])),
                entry(
                    Snake(epsilon: 1e-9),
                    load("channels", Snake(epsilon: 1e-9), [.floats(1, 64, rows), .floats(1, 64, 1)])),
            ]
    }

    private var alongAxes: [(String, [Make])] {
        let norm = LayerNorm(epsilon: 1e-5)
        let (root, length, group) = (RMSNorm(epsilon: 1e-6), L2Norm(), GroupNorm(groups: 1, epsilon: 1e-5))
        let instance = InstanceNorm(epsilon: 1e-5)
        return [
            entry(
                Softmax(), load("one row", Softmax(), [.floats(1, many)]), load("rows", Softmax(), [.floats(rows, 64)])),
            entry(
                norm, load("one row", norm, [.floats(1, many), .floats(many), .floats(many)]),
                load("rows", norm, [.floats(rows, 64), .floats(64), .floats(64)])),
            entry(
                root, load("one row", root, [.floats(1, many), .floats(many)]),
                load("rows", root, [.floats(rows, 64), .floats(64)])),
            entry(length, load("one row", length, [.floats(1, many)]), load("rows", length, [.floats(rows, 64)])),
            entry(group, load("one group", group, [.floats(1, 64, rows), .floats(64), .floats(64)])),
            entry(
                instance, load("one channel", instance, [.floats(1, 1, many)]),
                load("channels", instance, [.floats(1, 64, rows)])),
            entry(
                Reduce(.sum, axes: [1]), load("one row", Reduce(.sum, axes: [1]), [.floats(1, many)]),
                load("columns", Reduce(.mean, axes: [0]), [.floats(rows, 64)]),
                load("the largest", Reduce(.max, axes: [0, 1]), [.floats(rows, 64)])),
            entry(
                ArgMax(axis: 1), load("one row", ArgMax(axis: 1), [.floats(1, many)]),
                load("columns", ArgMax(axis: 0), [.floats(rows, 64)])),
            entry(
                CumulativeSum(axis: 1), load("one row", CumulativeSum(axis: 1), [.floats(1, many)]),
                load("columns", CumulativeSum(axis: 0), [.floats(rows, 64)])),
            entry(
                RoundRows(), load("one row", RoundRows(), [.floats(1, many)]),
                load("rows", RoundRows(), [.floats(rows, 64)])),
            entry(
                WidenRows(), load("one row", WidenRows(), [.floats(1, many)]),
                load("rows", WidenRows(), [.floats(rows, 64)])),
        ]
    }

    private var moving: [(String, [Make])] {
        [
            entry(
                Gather(), load("rows", Gather(), [.floats(rows / 4, 64), .integers(below: Int64(rows / 4), rows)]),
                load("long rows", Gather(), [.floats(2, many / 8), .integers(below: 2, 8)])),
            entry(
                Concat(axis: 0), load("one after the other", Concat(axis: 0), [.floats(many), .floats(many)]),
                load("columns", Concat(axis: 1), [.floats(rows, 32), .floats(rows, 32)])),
            // Views: a copy of what they show is the output.
            entry(Reshape(to: []), load("rows", Reshape(to: [64, Dimension(rows)]), [.floats(rows, 64)])),
            entry(Transpose([]), load("rows", Transpose([1, 0]), [.floats(rows, 64)])),
            entry(
                Slice(begin: [], sizes: []),
                load("columns", Slice(begin: [0, 1], sizes: [Dimension(rows), 62]), [.floats(rows, 64)])),
            entry(
                Expand(to: []), load("a row", Expand(to: [Dimension(rows), 64]), [.floats(1, 64)]),
                load("a column", Expand(to: [64, Dimension(rows)]), [.floats(64, 1)])),
            entry(
                Pad(.constant, before: [], after: []),
                load("one row", Pad(.constant, before: [0, 9], after: [0, 9]), [.floats(1, many)]),
                load("rows", Pad(.reflect, before: [0, 9], after: [0, 9]), [.floats(rows, 64)])),
            entry(
                Resize(.nearest, to: []),
                load("nearest", Resize(.nearest, to: [Dimension(many)]), [.floats(1, 1, many / 2)]),
                load("linear", Resize(.linear, to: [Dimension(many)]), [.floats(1, 1, many / 2)]),
                load(
                    "an image", Resize(.linear, to: [Dimension(side(4096)), Dimension(side(4096))]),
                    [.floats(1, 1, side(2048), side(2048))])),
            entry(
                Rope(),
                load("positions", Rope(), [.floats(1, 8, rows / 8, 64), .floats(rows / 8, 32), .floats(rows / 8, 32)])),
            entry(
                UpdateSlice(axis: 0),
                load("rows", UpdateSlice(axis: 0), [.floats(rows, 64), .floats(rows / 2, 64), .integers(below: 1)]),
                load("columns", UpdateSlice(axis: 1), [.floats(64, rows), .floats(64, rows / 2), .integers(below: 1)])),
        ]
    }

    private var products: [(String, [Make])] {
        let matrix: [OperatorLoad.Operand] = [.floats(side(256), side(2048)), .floats(side(4096), side(2048))]
        let vector: [OperatorLoad.Operand] = [.floats(1, side(4096)), .floats(side(8192), side(4096))]
        let tall: [OperatorLoad.Operand] = [.floats(rows / 8, side(1024)), .floats(side(512), side(1024))]
        let attention = Attention(scale: 0.125)
        return [
            entry(
                Linear(), load("a matrix", Linear(), matrix, weights: 1), load("inputs", Linear(), matrix),
                load("many rows", Linear(), tall, weights: 1),
                load("many rows and int4", Linear(), tall, weights: 1, codec: "int4:block=32"),
                load("a vector", Linear(), vector, weights: 1),
                load("a matrix of int4", Linear(), matrix, weights: 1, codec: "int4:block=32"),
                load("a vector and int4", Linear(), vector, weights: 1, codec: "int4:block=32")),
            entry(
                QuantizedLinear(), load("a matrix", QuantizedLinear(), matrix, weights: 1, codec: "int8"),
                load("many rows", QuantizedLinear(), tall, weights: 1, codec: "int8"),
                load("a vector", QuantizedLinear(), vector, weights: 1, codec: "int8")),
            entry(
                MatMul(),
                load("squares", MatMul(), [.floats(side(1536), side(1536)), .floats(side(1536), side(1536))]),
                load("few rows", MatMul(), [.floats(2, side(4096)), .floats(side(4096), side(4096))]),
                load("many rows", MatMul(), [.floats(rows / 8, side(1024)), .floats(side(1024), side(256))])),
            entry(
                attention,
                load("a text", attention, [OperatorLoad.Operand](repeating: .floats(1, 4, side(2048), 64), count: 3)),
                load(
                    "a token", attention,
                    [.floats(1, 4, 1, 64), .floats(1, 4, rows / 4, 64), .floats(1, 4, rows / 4, 64)])),
            entry(
                LSTM(),
                load(
                    "a batch", LSTM(),
                    [.floats(side(64), 16, side(1024)), .floats(side(1024), side(256))]),
                load(
                    "long", LSTM(reverses: true),
                    [.floats(1, rows / 8, side(1024)), .floats(side(1024), side(256))])),
            entry(
                LSTMCell(),
                load(
                    "a batch", LSTMCell(),
                    [
                        .floats(side(64), side(1024)), .floats(2, side(64), side(1024)),
                        .floats(side(4096), side(1024)), .floats(side(4096), side(1024)),
                    ]),
                load(
                    "one", LSTMCell(),
                    [
                        .floats(1, side(2048)), .floats(2, 1, side(2048)), .floats(side(8192), side(2048)),
                        .floats(side(8192), side(2048)),
                    ])),
        ]
    }

    private var windows: [(String, [Make])] {
        let image = Conv(Window(axes: 2, padding: 1))
        let depth = Conv(Window(padding: 3), groups: side(256))
        let up = ConvTranspose(Window(stride: 2, padding: 1))
        let larger = ConvTranspose(Window(axes: 2, stride: 2, padding: 1))
        return [
            entry(
                Conv(),
                load(
                    "a signal", Conv(Window(padding: 1)),
                    [.floats(1, side(128), many / 1024), .floats(side(128), side(128), 3)]),
                load("one channel", Conv(Window(padding: 15)), [.floats(1, 1, many / 8), .floats(1, 1, 31)]),
                load(
                    "an image", image, [.floats(1, side(64), side(160), side(160)), .floats(side(64), side(64), 3, 3)]),
                load("channels apart", depth, [.floats(1, side(256), many / 1024), .floats(side(256), 1, 7)])),
            entry(
                up, load("a signal", up, [.floats(1, side(128), many / 2048), .floats(side(128), side(128), 4)]),
                load("one channel", up, [.floats(1, 1, many / 8), .floats(1, 1, 4)]),
                load("an image", larger, [.floats(1, side(64), side(96), side(96)), .floats(side(64), side(32), 4, 4)])),
        ]
    }
}
