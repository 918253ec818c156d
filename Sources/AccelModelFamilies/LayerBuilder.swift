import AccelByteIO
import AccelPrograms
import AccelTensors

/// A program builder that applies layers by the names of their parameters in a checkpoint.
struct LayerBuilder {
    var builder: ProgramBuilder
    var names: TensorNames

    mutating func apply(_ operation: any Operator, _ inputs: Value...) throws -> Value {
        try builder.apply(operation, inputs)
    }

    mutating func weight(_ name: String, _ shape: Shape) throws -> Value {
        builder.constant(try names.take(name, shape), isWeight: true)
    }

    /// Applies a linear layer with `NAME.weight` [outputs, inputs] and, if it is biased, `NAME.bias` [outputs].
    mutating func linear(
        _ name: String, _ x: Value, from inputs: Int, to outputs: Int, isBiased: Bool = true
    ) throws -> Value {
        var operands = [x, try weight("\(name).weight", [outputs, inputs])]
        if isBiased { operands.append(try weight("\(name).bias", [outputs])) }
        return try builder.in(name) { try $0.apply(Linear(), operands) }
    }

    /// Applies a linear layer with a transposed weight: `NAME.weight` [inputs, outputs] and `NAME.bias` [outputs].
    mutating func linear(transposed name: String, _ x: Value, from inputs: Int, to outputs: Int) throws -> Value {
        let stored = try names.take("\(name).weight", [inputs, outputs])
        let kernel = builder.constant(try names.transposed(stored), isWeight: true)
        let bias = try weight("\(name).bias", [outputs])
        return try builder.in(name) { try $0.apply(Linear(), [x, kernel, bias]) }
    }

    /// Applies a layer norm with `NAME.weight` [width] and, if it is biased, `NAME.bias` [width].
    mutating func layerNorm(
        _ name: String, _ x: Value, width: Int, epsilon: Double, isBiased: Bool = true
    ) throws -> Value {
        var operands = [x, try weight("\(name).weight", [width])]
        if isBiased { operands.append(try weight("\(name).bias", [width])) }
        return try builder.in(name) { try $0.apply(LayerNorm(epsilon: epsilon), operands) }
    }

    /// Runs `body` with `name` appended to the labels of the nodes that it adds.
    mutating func `in`<Result>(_ name: String, _ body: (inout LayerBuilder) throws -> Result) rethrows -> Result {
        try builder.in(name) { inner in
            var copy = LayerBuilder(builder: inner, names: names)
            defer {
                inner = copy.builder
                names = copy.names
            }
            return try body(&copy)
        }
    }
}
