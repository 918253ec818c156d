import AccelTensors

/// The names of Whisper's tensors in checkpoints of transformers, without `model.` before them, and in whisper.cpp.
enum WhisperNames {
    /// How a file stores a tensor.
    enum Role {
        /// In the type of all matrices.
        case matrix
        /// In float16, or in float32 if the matrices are in it.
        case convolution
        /// In float32.
        case floats
    }

    private static let parts: [(own: String, file: String)] = [
        ("self_attn_layer_norm", "attn_ln"), ("self_attn.q_proj", "attn.query"), ("self_attn.k_proj", "attn.key"),
        ("self_attn.v_proj", "attn.value"), ("self_attn.out_proj", "attn.out"),
        ("encoder_attn_layer_norm", "cross_attn_ln"), ("encoder_attn.q_proj", "cross_attn.query"),
        ("encoder_attn.k_proj", "cross_attn.key"), ("encoder_attn.v_proj", "cross_attn.value"),
        ("encoder_attn.out_proj", "cross_attn.out"), ("final_layer_norm", "mlp_ln"), ("fc1", "mlp.0"), ("fc2", "mlp.2"),
    ]

    /// The tensors of a model with so many layers: names in checkpoints and in files.
    static func all(audioLayers: Int, textLayers: Int) -> [(own: String, file: String)] {
        var names: [(own: String, file: String)] = []
        func add(_ own: String, _ file: String, _ suffixes: [String] = ["weight", "bias"]) {
            names += suffixes.map { ("\(own).\($0)", "\(file).\($0)") }
        }
        for conv in ["encoder.conv1", "encoder.conv2"] { add(conv, conv) }
        add("decoder.embed_tokens", "decoder.token_embedding", ["weight"])
        for (stack, layers) in [("encoder", audioLayers), ("decoder", textLayers)] {
            names.append(("\(stack).embed_positions.weight", "\(stack).positional_embedding"))
            add("\(stack).layer_norm", stack == "encoder" ? "encoder.ln_post" : "decoder.ln")
            for layer in 0..<layers {
                for (own, file) in parts where stack == "decoder" || !own.hasPrefix("encoder_attn") {
                    add(
                        "\(stack).layers.\(layer).\(own)", "\(stack).blocks.\(layer).\(file)",
                        own.hasSuffix("k_proj") ? ["weight"] : ["weight", "bias"])
                }
            }
        }
        return names
    }

    static func role(of name: String, _ shape: Shape) -> Role {
        if shape.rank == 3 { return .convolution }
        return shape.rank == 2 && !name.contains("embed_positions") ? .matrix : .floats
    }

    /// The shape in files, where biases of convolutions are columns.
    static func fileShape(of name: String, _ shape: Shape) -> Shape {
        name.contains(".conv") && name.hasSuffix(".bias") ? Shape(shape.dimensions + [1]) : shape
    }
}
