/// The limits of each runtime, with what was measured.
extension RuntimeRounding {
    static let llamaFloat32 = RuntimeRounding(words: "in float32", graph: 60, output: 60)
    static let llamaFloat16 = RuntimeRounding(words: "in float16", graph: 45, output: 45)
    static let llamaBFloat16 = RuntimeRounding(words: "in bfloat16", graph: 30, output: 30)
    static let llamaBlocks = RuntimeRounding(words: "in blocks of int8", graph: 15, output: 15)
    static let mlxFloat32 = RuntimeRounding(words: "in float32", graph: 60, output: 60)
    static let ctranslate2Float32 = RuntimeRounding(words: "in float32", graph: 60, output: 60)
    static let ctranslate2Rows = RuntimeRounding(words: "in rows of int8", graph: 15, output: 15)
    static let coreaiFloat32 = RuntimeRounding(words: "in float32", graph: 90, output: 90)
    static let coreaiFloat16 = RuntimeRounding(words: "in float16", graph: 40, output: 40)
}
