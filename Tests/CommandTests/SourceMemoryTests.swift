#if os(Linux)
    import AccelByteIO
    import AccelTensors
    import Foundation
    import TestSupport
    import Testing

    /// The peak memory of commands that read a model with encoded weights, for each kind of source. Peaks hold the mapped pages of files.
    @Suite("Memory of sources")
    struct SourceMemoryTests {
        /// A kind of checkpoint: the quantization in config.json, and the tensors of a layer.
        struct Kind: Sendable, CustomTestStringConvertible {
            let name: String
            let configuration: String
            let tensors: @Sendable (_ name: String, _ rows: Int, _ columns: Int) throws -> [StoredTensor]
            var testDescription: String { name }
        }

        private static func zeros(_ name: String, _ type: ElementType, _ shape: Shape) throws -> StoredTensor {
            StoredTensor(
                name: name, elementType: type, shape: shape, bytes: try .zeros(shape.count * type.byteCount))
        }

        private static let kinds: [Kind] = [
            Kind(
                name: "GPTQ",
                configuration: """
                    {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": false, "sym": false}
                    """
            ) { name, rows, columns in
                [
                    try zeros("\(name).qweight", .int32, [columns / 8, rows]),
                    try zeros("\(name).qzeros", .int32, [columns / 128, rows / 8]),
                    try zeros("\(name).scales", .float16, [columns / 128, rows]),
                    StoredTensor(
                        name: "\(name).g_idx", elementType: .int32, shape: [columns],
                        bytes: ByteView((0..<columns).map { Int32($0 / 128) })),
                ]
            },
            Kind(
                name: "AWQ",
                configuration: #"{"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true}"#
            ) {
                name, rows, columns in
                [
                    try zeros("\(name).qweight", .int32, [columns, rows / 8]),
                    try zeros("\(name).qzeros", .int32, [columns / 128, rows / 8]),
                    try zeros("\(name).scales", .float16, [columns / 128, rows]),
                ]
            },
            Kind(name: "HQQ", configuration: #"{"quant_method": "hqq"}"#) { name, rows, columns in
                func number(_ part: String, _ values: [Int64]) -> StoredTensor {
                    StoredTensor(
                        name: "\(name).\(part)", integers: values, shape: values.count == 1 ? [] : [values.count])
                }
                let groups = rows * columns / 64
                return [
                    number("nbits", [4]), number("axis", [1]), number("group_size", [64]),
                    number("shape", [Int64(rows), Int64(columns)]),
                    try zeros("\(name).W_q", .uint8, [groups / 2, 64]),
                    try zeros("\(name).scale", .float16, [groups, 1]),
                    try zeros("\(name).zero", .float16, [groups, 1]),
                ]
            },
            Kind(
                name: "block FP8",
                configuration:
                    #"{"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}"#
            ) { name, rows, columns in
                [
                    try zeros("\(name).weight", .float8e4m3, [rows, columns]),
                    try zeros("\(name).weight_scale_inv", .bfloat16, [rows / 128, columns / 128]),
                ]
            },
            Kind(
                name: "int8",
                configuration: """
                    {"quant_method": "compressed-tensors", "format": "int-quantized", "quantization_status": "compressed",
                     "config_groups": {"a": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "int", "strategy": "channel",
                     "symmetric": true}}}}
                    """
            ) { name, rows, columns in
                [
                    try zeros("\(name).weight", .int8, [rows, columns]),
                    try zeros("\(name).weight_scale", .bfloat16, [rows, 1]),
                ]
            },
            Kind(name: "MLX", configuration: #"{"group_size": 64, "bits": 4}"#) { name, rows, columns in
                [
                    try zeros("\(name).weight", .uint32, [rows, columns / 8]),
                    try zeros("\(name).scales", .bfloat16, [rows, columns / 64]),
                    try zeros("\(name).biases", .bfloat16, [rows, columns / 64]),
                ]
            },
        ]

        private static let (width, inner, layers, vocabulary) = (1024, 2048, 2, 256)
        /// The bytes of all weights in float32.
        private static let decodedBytes = layers * (3 * width * inner + 4 * width * width) * 4

        /// Writes a Llama whose products have weights of a kind, and returns the bytes of its file.
        private static func write(_ kind: Kind, to folder: String) throws -> Int {
            var tensors = [
                try zeros("model.embed_tokens.weight", .bfloat16, [vocabulary, width]),
                try zeros("model.norm.weight", .bfloat16, [width]),
                try zeros("lm_head.weight", .bfloat16, [vocabulary, width]),
            ]
            for layer in 0..<layers {
                let name = "model.layers.\(layer)"
                for norm in ["input_layernorm", "post_attention_layernorm"] {
                    tensors.append(try zeros("\(name).\(norm).weight", .bfloat16, [width]))
                }
                for role in ["q", "k", "v", "o"] {
                    tensors += try kind.tensors("\(name).self_attn.\(role)_proj", width, width)
                }
                for (role, rows, columns) in [("gate", inner, width), ("up", inner, width), ("down", width, inner)] {
                    tensors += try kind.tensors("\(name).mlp.\(role)_proj", rows, columns)
                }
            }
            try SafetensorsWriter.write(tensors, to: "\(folder)/model.safetensors", as: .part)
            let key = kind.name == "MLX" ? "quantization" : "quantization_config"
            let text = """
                {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": \(width),
                 "intermediate_size": \(inner), "max_position_embeddings": 512, "num_attention_heads": 8,
                 "num_hidden_layers": \(layers), "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
                 "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": \(vocabulary),
                 "\(key)": \(kind.configuration)}
                """
            try text.write(toFile: "\(folder)/config.json", atomically: true, encoding: .utf8)
            return try Data(contentsOf: URL(filePath: "\(folder)/model.safetensors"), options: .mappedIfSafe).count
        }

        @Test(
            "inspect decodes nothing, and keep holds no more than the weights that it writes",
            .disabled(if: PeakMemory.isSanitized, "a sanitizer takes memory of its own for all that is touched"),
            arguments: kinds)
        func commands(_ kind: Kind) throws {
            try withTemporaryFolder { folder in
                let model = "\(folder)/model"
                try FileManager.default.createDirectory(atPath: model, withIntermediateDirectories: true)
                let fileBytes = try Self.write(kind, to: model)
                // So short a run may end between the last sample of its memory and its peak.
                let empty = try (0..<5).map { _ in try PeakMemory.peak(["help"], in: folder) }.max() ?? 0
                let inspected = try PeakMemory.peak(["inspect", "model"], in: folder) - empty
                #expect(inspected < Self.decodedBytes / 4, "\(inspected) bytes, \(Self.decodedBytes) decoded")
                let words = ["--shape", "batch=1,tokens=1,cache=8", "--compress", "keep", "-q", "-o", "p.accelpkg"]
                let kept = try PeakMemory.peak(["convert", "model"] + words, in: folder) - empty
                // The pages of the file, and of each of two threads codes, their packed form, and scales.
                #expect(
                    kept - fileBytes < Self.decodedBytes / 2,
                    "\(kept) bytes, \(Self.decodedBytes) decoded, \(fileBytes) in the file"
                )
            }
        }
    }
#endif
