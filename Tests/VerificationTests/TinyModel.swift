import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport

/// A program with every kind of reader of weights: a gather, two linears of equal shapes, a fused activation, a norm.
struct TinyModel {
    let program: Program
    let weights: [StoredTensor]

    init(seed: UInt64 = 7, scale: Float = 1) throws {
        var generator = SeededGenerator(seed: seed)
        func weight(_ name: String, _ shape: Shape) -> StoredTensor {
            let floats = (0..<shape.count).map { _ in
                (Float.random(in: -1...1, using: &generator) + Float.random(in: -1...1, using: &generator)) * scale
            }
            return StoredTensor(name: name, floats: floats, shape: shape)
        }
        weights = [
            weight("embeddings.weight", [48, 32]), weight("layer.0.query.weight", [32, 32]),
            weight("layer.0.query.bias", [32]), weight("layer.0.key.weight", [32, 32]),
            weight("layer.0.up.weight", [64, 32]), weight("layer.0.up.bias", [64]),
            weight("layer.0.down.weight", [32, 64]), weight("norm.weight", [32]), weight("norm.bias", [32]),
        ]
        let byName = Dictionary(uniqueKeysWithValues: weights.map { ($0.name, $0) })
        var builder = ProgramBuilder(
            name: "model", dimensions: [.init("batch", usual: [1]), .init("sequence", usual: [8])], role: .encode)
        func constant(_ name: String, _ builder: inout ProgramBuilder) throws -> Value {
            guard let tensor = byName[name] else { throw OperatorError("there is no \(name)") }
            return builder.constant(tensor, isWeight: true)
        }
        let ids = builder.input("input_ids", TensorType(.int64, ["batch", "sequence"]), .tokens(vocabulary: 48))
        let mask = builder.input(
            "attention_mask", TensorType(.int64, ["batch", "sequence"]), .attentionMask(.onesCount))
        let table = try constant("embeddings.weight", &builder)
        var x = try builder.in("embeddings") { try $0.apply(Gather(), [table, ids]) }
        let flags = try builder.in("mask") { builder in
            let floats = try builder.apply(Cast(to: .float32), [mask])
            return try builder.apply(Reshape(to: ["batch", "sequence", 1]), [floats])
        }
        x = try builder.in("mask") { try $0.apply(Multiply(), [x, flags]) }
        let query = try builder.in("layer.0.query") { builder in
            try builder.apply(
                Linear(),
                [x, try constant("layer.0.query.weight", &builder), try constant("layer.0.query.bias", &builder)])
        }
        let key = try builder.in("layer.0.key") { builder in
            try builder.apply(Linear(), [x, try constant("layer.0.key.weight", &builder)])
        }
        let product = try builder.in("layer.0") { try $0.apply(Multiply(), [query, key]) }
        let up = try builder.in("layer.0.up") { builder in
            let linear = try builder.apply(
                Linear(),
                [product, try constant("layer.0.up.weight", &builder), try constant("layer.0.up.bias", &builder)])
            return try builder.apply(Gelu(.erf), [linear])
        }
        let down = try builder.in("layer.0.down") { builder in
            try builder.apply(Linear(), [up, try constant("layer.0.down.weight", &builder)])
        }
        let sum = try builder.in("layer.0") { try $0.apply(Add(), [down, x]) }
        let norm = try builder.in("norm") { builder in
            try builder.apply(
                LayerNorm(epsilon: 1e-5),
                [sum, try constant("norm.weight", &builder), try constant("norm.bias", &builder)])
        }
        builder.output("last_hidden_state", norm, .hiddenStates)
        builder.output("logits", query, .logits(over: .labels))
        program = try builder.finish()
    }

    func frozen(_ bindings: String = "batch=2,sequence=8") throws -> FrozenProgram {
        try program.freezing(ShapeBindings(parsing: bindings))
    }

    func compressed(_ codec: String, _ bindings: [String] = ["batch=2,sequence=8"]) throws -> CompressedProgram {
        try Recipe(default: Codecs.codec(codec)).compressing(
            bindings.map(frozen), threads: 1,
            calibrating: { plan, _ in
                try plan.reduce(into: [:]) { made, weight in
                    guard weight.choice.codec.method != .nearest else { return }
                    let (tensor, distortion) = try CompressedTensor.compressing(
                        weight.source, with: weight.choice.codec,
                        given: Self.statistics(columns: weight.source.shape.columns), threads: 1)
                    made[weight.source.name] = CompressedWeight(
                        tensor: tensor, distortion: distortion, readers: weight.readers)
                }
            })
    }

    /// Of inputs that go together.
    private static func statistics(columns: Int) -> ActivationStatistics {
        var generator = SeededGenerator(seed: 3)
        let vectors = (0..<50).map { _ in
            let common = Float.random(in: -1...1, using: &generator)
            return (0..<columns).map { _ in common + Float.random(in: -1...1, using: &generator) }
        }
        let moments = (0..<columns * columns).map { place in
            vectors.reduce(Float(0)) { $0 + $1[place / columns] * $1[place % columns] } / 50
        }
        return ActivationStatistics(columns: columns, count: 50, moments: moments)
    }

    func planned(_ codec: String, _ bindings: [String] = ["batch=2,sequence=8"]) throws -> ModelPlan {
        try compressed(codec, bindings).planned()
    }
}
