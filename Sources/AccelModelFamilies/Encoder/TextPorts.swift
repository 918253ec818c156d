import AccelPrograms
import AccelTensors

/// The inputs of an encoder of texts: I64[batch, sequence], or for choices among texts I64[batch, choices, sequence].
struct TextPorts {
    let dimensions: [Program.FreeDimension]
    /// The number of texts in a run.
    let texts: Dimension
    private let type: TensorType

    /// - Parameter choices: the inputs are groups of texts.
    init(choices: Bool, sequence: Program.FreeDimension) {
        let batch = Program.FreeDimension("batch", usual: [1, 8])
        dimensions = choices ? [batch, .init("choices", usual: [4]), sequence] : [batch, sequence]
        texts = choices ? "batch" * "choices" : "batch"
        type = TensorType(.int64, choices ? ["batch", "choices", "sequence"] : ["batch", "sequence"])
    }

    /// Adds an input.
    /// - Returns: I64[texts, sequence]
    func input(_ name: String, _ role: Role, in layers: inout LayerBuilder) throws -> Value {
        let value = layers.builder.input(name, type, role)
        return type.rank == 2 ? value : try layers.in(name) { try $0.apply(Reshape(to: [texts, "sequence"]), value) }
    }
}
