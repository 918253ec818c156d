import AccelPrograms
import AccelTensors

extension LayerBuilder {
    /// Returns the weight `NAME.weight`, plain or weight-normed.
    mutating func normedWeight(_ name: String, _ shape: Shape) throws -> Value {
        builder.constant(try names.takeNormed(name, shape), isWeight: true)
    }

    /// Applies a convolution over time with `NAME.weight` [outputs, inputs / groups, kernel], plain or weight-normed,
    /// and `NAME.bias` [outputs] if it `hasBias`.
    mutating func conv(
        _ name: String, _ x: Value, from inputs: Int, to outputs: Int, kernel: Int, _ window: Window = Window(),
        groups: Int = 1, hasBias: Bool = true
    ) throws -> Value {
        var operands = [x, try normedWeight(name, [outputs, inputs / groups, kernel])]
        if hasBias { operands.append(try weight("\(name).bias", [outputs])) }
        return try builder.in(name) { try $0.apply(Conv(window, groups: groups), operands) }
    }

    /// Applies a transposed convolution over time with `NAME.weight` [inputs, outputs / groups, kernel], plain or
    /// weight-normed, and `NAME.bias` [outputs].
    mutating func convTranspose(
        _ name: String, _ x: Value, from inputs: Int, to outputs: Int, kernel: Int, _ window: Window,
        outputPadding: Int = 0, groups: Int = 1
    ) throws -> Value {
        let weight = try normedWeight(name, [inputs, outputs / groups, kernel])
        let bias = try self.weight("\(name).bias", [outputs])
        let operation = ConvTranspose(window, outputPadding: [outputPadding], groups: groups)
        return try builder.in(name) { try $0.apply(operation, [x, weight, bias]) }
    }

    /// Swaps the last two axes: [batch, channels, time] to [batch, time, channels] and back.
    mutating func transposed(_ x: Value) throws -> Value { try apply(Transpose([0, 2, 1]), x) }
}
