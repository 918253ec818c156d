import AccelByteIO
import AccelTensors

extension CTranslate2Decoder {
    private static let attention = "decoder/layer_0/self_attention"
    private static let originalPositions = "original_max_position_embeddings"

    /// Returns the family that computes what a model does. The file does not name it: a model of two families, such as a Mistral
    /// without a window, is of the first one here.
    static func family(of reader: CTranslate2Reader) throws -> any CTranslate2Family {
        func has(_ name: String) -> Bool { reader.has("\(attention)/\(name)") }
        var numbers = reader
        let rotated = try numbers.count("\(attention)/rotary_dim", in: 0...1 << 16) ?? 0
        let rows = try reader.sizes(of: "\(attention)/linear_1/weight", rank: 2)[1]
        let isPart = try rotated != 0 && rotated * (numbers.count("decoder/num_heads", in: 1...1 << 12) ?? 1) < rows
        let name =
            if reader.has("decoder/embeddings/multiply_by_sqrt_depth") {
                "gemma"
            } else if has("q_norm/gamma") {
                "qwen3"
            } else if isPart || has(originalPositions) && !has("rotary_high_freq_factor") {
                "phi3"
            } else if has("sliding_window") {
                "mistral"
            } else if has("linear_0/bias") && !has("linear_1/bias") {
                "qwen2"
            } else {
                "llama"
            }
        return all.first { $0.names == [name] } ?? all[0]
    }

    func read(_ reader: inout CTranslate2Reader, _ settings: CTranslate2Settings) throws -> CTranslate2Checkpoint {
        let family = names[0]
        var checkpoint = CTranslate2Checkpoint(
            family, "\(family.prefix(1).uppercased())\(family.dropFirst())ForCausalLM")
        reader.prefix = prefixes[0]
        try reader.requireScalars()
        try reader.require("decoder/scale_embeddings", .flag(isGemma))
        let words = try reader.sizes(of: "decoder/embeddings/weight", rank: 2)
        if isGemma {
            let factor = Float(Double(words[1]).squareRoot())
            try reader.require("decoder/embeddings/multiply_by_sqrt_depth", .float32(factor))
        }
        checkpoint.set("vocab_size", count: words[0])
        checkpoint.set("hidden_size", count: words[1])
        checkpoint.set("hidden_act", .string(try reader.activation("decoder/activation")))
        checkpoint.set("rms_norm_eps", .number(try settings.epsilon(default: 1e-6)))
        let stack = layout.stacks[0]
        let layers = reader.layerCount(of: stack)
        checkpoint.set("num_hidden_layers", count: layers)
        checkpoint.set(
            "intermediate_size",
            count: try reader.sizes(of: "\(stack.names(0).variables)ffn/linear_0/weight", rank: 2)[0])
        let heads = try addHeads(&reader, layers, width: words[1], to: &checkpoint)
        try addBiases(reader, to: &checkpoint)
        try CTranslate2RotaryReading(&reader, layers, headWidth: heads.width, isPhi: isPacked)
            .write(settings, to: &checkpoint)
        if isGemma {
            let norms =
                layout.entries.map { ($0, "") }
                + (0..<layers).flatMap { layer in
                    stack.entries.map { ($0, stack.names(layer).variables) }
                }
            for case (.norm(let name, _, _), let start) in norms {
                try reader.require("\(start + name)/layer_norm_use_residual", .flag(true))
            }
        }
        try reader.add(layout) { $0 == "self_attention/linear_0" ? heads.shares : nil }
        try reader.addWords(Self.words, head: Self.head, to: &checkpoint)
        checkpoint.set(try settings.tokenMembers())
        return checkpoint
    }

    /// Adds the numbers of heads and the window, which are those of all layers.
    private func addHeads(
        _ reader: inout CTranslate2Reader, _ layers: Int, width: Int, to checkpoint: inout CTranslate2Checkpoint
    ) throws -> (shares: [Int], width: Int) {
        guard let count = try reader.count("decoder/num_heads", in: 1...1 << 12) else {
            throw reader.unsupported("it has no variable \"decoder/num_heads\"")
        }
        let keys = try reader.shared("num_heads_kv", in: layers) ?? count
        let headWidth = try reader.shared("head_dim", in: layers) ?? width / count
        guard (1...count).contains(keys), (1...1 << 16).contains(headWidth) else {
            throw reader.unsupported(
                "\(count) heads with \(keys) key heads of the width \(headWidth) are not supported")
        }
        let name = "\(Self.attention)/linear_0/weight"
        let rows = try reader.sizes(of: name, rank: 2)[0]
        guard rows == (count + 2 * keys) * headWidth else {
            throw FormatError(
                file: reader.file, location: .tensor(name, index: nil),
                reason:
                    "expected \((count + 2 * keys) * headWidth) rows, for \(count) heads and \(keys) of keys and of values, "
                    + "found \(rows)")
        }
        checkpoint.set("num_attention_heads", count: count)
        checkpoint.set("num_key_value_heads", count: keys)
        checkpoint.set("head_dim", count: headWidth)
        let window = try reader.shared("sliding_window", in: layers)
        if let own = try reader.count("decoder/sliding_window"), own != window {
            throw reader.unsupported(
                "windows of \(own) and \(window.map(String.init) ?? "no") positions are not supported")
        }
        if window != nil, !hasWindow, !isPacked { throw reader.unsupported("its family has no sliding window") }
        if hasWindow || window != nil { checkpoint.set("sliding_window", window.map { .integer(Int64($0)) } ?? .null) }
        return ([count, keys, keys], headWidth)
    }

    private func addBiases(_ reader: CTranslate2Reader, to checkpoint: inout CTranslate2Checkpoint) throws {
        func has(_ layer: String) -> Bool { reader.has("decoder/layer_0/\(layer)/bias") }
        let hasBias = has("self_attention/linear_0")
        if ["llama", "qwen3", "gemma"].contains(names[0]) { checkpoint.set("attention_bias", .bool(hasBias)) }
        if names[0] == "llama" { checkpoint.set("mlp_bias", .bool(has("ffn/linear_0"))) }
    }
}

extension CTranslate2Reader {
    /// Returns a whole number of the attention of every layer; nil if they have none.
    /// - Throws: `RequestError` if it differs between layers.
    mutating func shared(_ name: String, in layers: Int) throws -> Int? {
        let numbers = try (0..<layers).map { try count("decoder/layer_\($0)/self_attention/\(name)") }
        guard Set(numbers).count <= 1 else { throw unsupported("layers with different \(name) are not supported") }
        return numbers.first ?? nil
    }
}
