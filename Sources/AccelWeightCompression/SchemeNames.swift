import AccelByteIO

/// Names of schemes elsewhere, and what they are called here.
enum SchemeNames {
    private static let others = [
        "f32": "float32", "fp32": "float32", "f16": "float16", "fp16": "float16", "half": "float16", "bf16": "bfloat16",
        "f8": "float8", "fp8": "float8", "float4": "fp4", "none": "float32", "gptq": "int4:method=gptq",
        "awq": "int4:method=awq", "w4a16": "int4", "w8a16": "int8", "w8a8": "int8", "kmeans": "palette",
        "lut": "palette",
        "q4": "int4", "q8": "int8",
    ]

    /// Returns the end of an error about an unknown scheme: the one that is meant, in this tool's words; empty if none is.
    static func hint(for name: String) -> String {
        if let mix = GGMLMix.all.first(where: { $0.name == name.lowercased() }) {
            return mix.name == name
                ? "; it is a mix for all weights of a model, whose most frequent scheme is \"\(mix.base)\""
                : suggestion(mix.name)
        }
        return suggestion(meant(by: name) ?? nearestName(to: name, among: known))
    }

    private static var known: [String] { Codecs.all.map { $0.name } + GGMLMix.all.map(\.name) }

    /// Returns the scheme that a name of other tools means, in any case of letters; nil for a name that no tool has.
    private static func meant(by name: String) -> String? {
        let plain = name.lowercased().filter { !"-_ ".contains($0) }
        let own = known.first { $0 == name.lowercased() || $0.filter { $0 != "_" } == plain }
        return own ?? others[plain] ?? bits(of: plain).map { [4: "int4", 8: "int8"][$0] ?? "palette:bits=\($0)" }
    }

    /// Returns the number of bits in `4bit`, `int3` or `w6`; nil for other names.
    private static func bits(of plain: String) -> Int? {
        var text = plain[...]
        for prefix in ["int", "w", "q", "palette", "lut"] where text.hasPrefix(prefix) {
            text = text.dropFirst(prefix.count)
        }
        for suffix in ["bits", "bit", "b"] where text.hasSuffix(suffix) { text = text.dropLast(suffix.count) }
        return text.count == 1 ? Int(text).flatMap { (1...8).contains($0) ? $0 : nil } : nil
    }
}
