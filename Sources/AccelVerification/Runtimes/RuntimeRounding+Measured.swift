/// The limits of each runtime, with what was measured: SQNR in dB of the worst output, on models of two layers with random weights of
/// 256 columns, drawn tokens and, where one is named, a fixture. Limits are well below: models with random weights of more layers
/// lose more, and wrong arithmetic has below 10 dB.
extension RuntimeRounding {
    /// 131 for llama; 90 for gemma, 86 for BERT and 72 for GPT-2, as ggml reads GELU from a table of float16.
    static let llamaFloat32 = RuntimeRounding(words: "in float32", graph: 60, output: 60, arithmetic: .float32)
    /// 67 for llama against the stored weights, 62 against the model.
    static let llamaFloat16 = RuntimeRounding(words: "in float16", graph: 45, output: 45, arithmetic: .float16)
    /// 49 for llama against the stored weights, 44 against the model.
    static let llamaBFloat16 = RuntimeRounding(words: "in bfloat16", graph: 30, output: 30)
    /// 38 for llama in q8_0 against the stored weights, 34 against the model, and 32 for the fixture llama_bfloat16.
    static let llamaBlocks = RuntimeRounding(words: "in blocks of int8", graph: 15, output: 15)
    /// 123 for llama, 120 for gemma3; 96 for gemma, whose class in mlx-lm computes GELU exactly. Where the root of the width is no
    /// bfloat16, gemma3's class rounds its embeddings to about 65.
    static let mlxFloat32 = RuntimeRounding(words: "in float32", graph: 60, output: 60, arithmetic: .float32)
    /// 130 for gemma and the fixture qwen3_small, 132 for BERT. int8 weights decoded to float32 have the limit of their scheme.
    static let ctranslate2Float32 = RuntimeRounding(words: "in float32", graph: 90, output: 90, arithmetic: .float32)
    /// 10 against the model for the fixture qwen3_small, whose rows have few columns and large outliers.
    static let ctranslate2Rows = RuntimeRounding(words: "in rows of int8", graph: 5, output: 5)
    /// 126 for the fixture llama_bfloat16, and 88.6 for all-MiniLM-L6-v2 in palettes of 4 bits, on drawn tokens.
    static let coreaiFloat32 = RuntimeRounding(words: "in float32", graph: 75, output: 75, arithmetic: .float32)
    /// At least 40 over the cases of scripts/peers/coreai.py, and 38.8 for all-MiniLM-L6-v2 in palettes of 4 bits, on drawn tokens.
    static let coreaiFloat16 = RuntimeRounding(words: "in float16", graph: 30, output: 30, arithmetic: .float16)
}
