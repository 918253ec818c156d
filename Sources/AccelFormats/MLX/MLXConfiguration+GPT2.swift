import AccelByteIO

extension MLXConfiguration {
    /// Adds the fields of GPT-2 that mlx-lm requires, and rejects those that its class does not have.
    mutating func completeGPT2() throws {
        let sizes = [
            ("n_embd", 768), ("n_head", 12), ("n_layer", 12), ("n_positions", 1024), ("vocab_size", 50257),
        ]
        for (key, usual) in sizes { add(key, .integer(Int64(usual))) }
        add("n_ctx", field["n_positions"].value ?? 1024)
        add("layer_norm_epsilon", 1e-5)
        let activation = field["activation_function"]
        guard try !activation.exists || ["gelu_new", "gelu_pytorch_tanh"].contains(activation.string()) else {
            throw unsupported(activation.path, "has no activation but gelu_new")
        }
        let width = try field["n_embd"].exists ? field["n_embd"].int(in: 1...1 << 20) : 768
        guard try !field["n_inner"].exists || field["n_inner"].int() == 4 * width else {
            throw unsupported("n_inner", "has inner layers of 4 * n_embd = \(4 * width) only")
        }
        guard try !field["scale_attn_weights"].exists || field["scale_attn_weights"].bool() else {
            throw unsupported("scale_attn_weights", "divides scores by the square root of the head's width")
        }
        let byLayer = field["scale_attn_by_inverse_layer_idx"]
        guard try !byLayer.exists || !byLayer.bool() else {
            throw unsupported(byLayer.path, "does not divide scores by the number of the layer")
        }
    }
}
