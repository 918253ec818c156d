import AccelByteIO
import AccelTensors
import Foundation

/// A llama that writes codes as Orpheus does, for the SNAC models among the fixtures: after the start of speech its likeliest token is
/// the first one of a chain of codes, whatever the text is. Each token's vector is its own, and the last layer leads it to the next token
/// of the chain.
public enum CodeWriter {
    /// The number of codes of each codebook.
    public static let codebookSize = 19
    /// The tokens: those of the text fixture, `<custom_token_N>`, and `<|eot_id|>`.
    public static let firstCustom: Int64 = 420
    private static let customCount = 10 + 7 * codebookSize
    private static let vocabulary = Int(firstCustom) + customCount + 1
    private static let width = 64

    /// Returns the code of a slot of a frame that the model writes. The codes of up to 19 frames are different.
    public static func code(frame: Int, slot: Int) -> Int { (5 * frame + 2 + 3 * slot) % codebookSize }

    /// Returns the token of `<custom_token_N>`.
    public static func custom(_ number: Int) -> Int64 { firstCustom + Int64(number) }

    /// The tokens that the model writes, with that of the end.
    public static func tokens(frames: Int) -> [Int64] {
        (0..<frames).flatMap { frame in
            (0..<7).map { slot in custom(10 + slot * codebookSize + code(frame: frame, slot: slot)) }
        } + [custom(2)]
    }

    /// Writes the model into a folder.
    /// - Parameters:
    ///   - frames: those that it writes before it ends, up to 19.
    ///   - strays: in each third slot a token of the text is likelier than the code.
    public static func write(to folder: String, frames: Int, strays: Bool = false) throws {
        var generator = SeededGenerator(seed: 11)
        let vectors = (0..<vocabulary * width).map { _ in generator.next() & 1 == 0 ? Float(-1) : 1 }
        var head = [Float](repeating: 0, count: vectors.count)
        func lead(_ token: Int64, to next: Int64, _ weight: Float) {
            for index in 0..<width {
                head[Int(next) * width + index] += weight * vectors[Int(token) * width + index]
            }
        }
        let chain = [custom(1)] + tokens(frames: frames)
        for (index, next) in chain.dropFirst().enumerated() {
            lead(chain[index], to: next, 1)
            if strays, index % 7 == 3 { lead(chain[index], to: 5, 2) }
        }
        let wide = [Float](repeating: 0, count: width * width)
        let half = [Float](repeating: 0, count: width / 2 * width)
        let ones = [Float](repeating: 1, count: width)
        let (matrix, layer) = (Shape([width, width]), "model.layers.0")
        var tensors = [
            StoredTensor(name: "model.embed_tokens.weight", floats: vectors, shape: [vocabulary, width]),
            StoredTensor(name: "lm_head.weight", floats: head, shape: [vocabulary, width]),
        ]
        for name in ["self_attn.q_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"] {
            tensors.append(StoredTensor(name: "\(layer).\(name).weight", floats: wide, shape: matrix))
        }
        for name in ["k_proj", "v_proj"] {
            tensors.append(
                StoredTensor(name: "\(layer).self_attn.\(name).weight", floats: half, shape: [width / 2, width]))
        }
        for name in ["\(layer).input_layernorm", "\(layer).post_attention_layernorm", "model.norm"] {
            tensors.append(StoredTensor(name: "\(name).weight", floats: ones, shape: [width]))
        }
        try Files.makeFolder(folder)
        try SafetensorsWriter.write(tensors, to: "\(folder)/model.safetensors", as: .part)
        let configuration = """
            {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": \(vocabulary), "hidden_size": \(width),
            "intermediate_size": \(width), "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
            "head_dim": 16, "hidden_act": "silu", "max_position_embeddings": 256, "rms_norm_eps": 1e-06,
            "rope_theta": 10000.0, "tie_word_embeddings": false, "attention_bias": false, "mlp_bias": false,
            "bos_token_id": 0, "eos_token_id": 2}
            """
        try AtomicFile.write(configuration, to: "\(folder)/config.json", as: .internal)
        try writeTokenizer(to: folder)
    }

    private static func writeTokenizer(to folder: String) throws {
        let source = URL(filePath: Fixtures.path("text/llama"))
        let read = try JSONSerialization.jsonObject(
            with: try Data(contentsOf: source.appending(path: "tokenizer.json")))
        guard var document = read as? [String: Any], var added = document["added_tokens"] as? [[String: Any]] else {
            throw CocoaError(.fileReadCorruptFile)
        }
        for index in 0...customCount {
            added.append([
                "id": Int(firstCustom) + index,
                "content": index < customCount ? "<custom_token_\(index)>" : "<|eot_id|>", "single_word": false,
                "lstrip": false, "rstrip": false, "normalized": false, "special": true,
            ])
        }
        document["added_tokens"] = added
        try JSONSerialization.data(withJSONObject: document, options: [.sortedKeys]).write(
            to: URL(filePath: "\(folder)/tokenizer.json"))
        try FileManager.default.copyItem(
            at: source.appending(path: "tokenizer_config.json"),
            to: URL(filePath: "\(folder)/tokenizer_config.json"))
    }
}
