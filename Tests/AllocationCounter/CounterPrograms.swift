import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport

/// Small programs that use operators and codecs one by one.
enum CounterPrograms {
    /// An operator's sample on inputs x0, x1, ...; one of them may be a weight instead.
    static func applying(_ sample: OperatorSample, weight: Int?) throws -> ModelPlan {
        var builder = ProgramBuilder(name: "model")
        let values = try sample.portInputs().enumerated().map { index, tensor in
            index == weight
                ? builder.constant(tensor.stored(name: "w"), isWeight: true)
                : builder.input("x\(index)", tensor.type)
        }
        for (index, value) in try sample.applied(to: values, in: &builder).enumerated() {
            builder.output("y\(index)", value)
        }
        return try planned(builder, Codecs.codec("float32"))
    }

    /// Products of few and of many rows, rows by index, a convolution, and an elementwise use of stored weights.
    static func reading(_ codec: any WeightCodec) throws -> ModelPlan {
        var builder = ProgramBuilder(name: "model")
        var generator = SeededGenerator(seed: 1)
        func weight(_ shape: Shape, _ builder: inout ProgramBuilder) -> Value {
            let floats = (0..<shape.count).map { _ in Float.random(in: -1...1, using: &generator) }
            let name = "w\(floats.hashValue)"
            return builder.constant(StoredTensor(name: name, floats: floats, shape: shape), isWeight: true)
        }
        for rows in [1, 2, 40] {
            let x = builder.input("x\(rows)", TensorType(.float32, shape: [rows, 1000]))
            builder.output("product \(rows)", try builder.apply(Linear(), [x, weight([300, 1000], &builder)]))
        }
        let indices = builder.input("indices", TensorType(.int64, shape: [30]))
        builder.output("rows", try builder.apply(Gather(), [weight([70, 1000], &builder), indices]))
        let wave = builder.input("wave", TensorType(.float32, shape: [1, 40, 300]))
        builder.output("conv", try builder.apply(Conv(), [wave, weight([60, 40, 3], &builder)]))
        builder.output("up", try builder.apply(ConvTranspose(), [wave, weight([40, 60, 3], &builder)]))
        let table = builder.input("table", TensorType(.float32, shape: [100, 100]))
        builder.output("sum", try builder.apply(Add(), [table, weight([100, 100], &builder)]))
        builder.output("turned", try builder.apply(Transpose([1, 0]), [table]))
        return try planned(builder, codec)
    }

    private static func planned(_ builder: ProgramBuilder, _ codec: any WeightCodec) throws -> ModelPlan {
        let frozen = try builder.finish().freezing(ShapeBindings())
        return try Recipe(default: codec).compressing([frozen], threads: 1).planned()
    }
}
