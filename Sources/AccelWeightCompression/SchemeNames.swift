import AccelByteIO

/// Names of schemes elsewhere, and what they are called here.
enum SchemeNames {
    private static let others = [
        "f32": "float32", "fp32": "float32", "f16": "float16", "fp16": "float16", "half": "float16", "bf16": "bfloat16",
        "f8": "float8", "fp8": "float8", "float4": "fp4", "none": "float32", "gptq": "int4:method=gptq",
        "awq": "int4:method=awq", "w4a16": "int4", "w8a16": "int8", "kmeans": "palette", "lut": "palette",
        "q4": "int4", "q8": "int8",
    ]
    /// Names of other tools that also say how activations are rounded.
    private static let withActivations = ["w8a8": "int8", "w4a8": "int4"]

    /// Returns the end of an error about a specification with an unknown scheme: the one that is meant, in this tool's words, and
    /// where all are listed.
    static func hint(for specification: String) -> String {
        let name = String(specification.prefix { $0 != ":" })
        if let mix = GGMLMix.all.first(where: { $0.name == name.lowercased() }) {
            return mix.name == name
                ? "; it is a mix for all weights of a model, whose most frequent scheme is \"\(mix.base)\""
                : suggestion(mix.name) + Self.list
        }
        if let weights = withActivations[name.lowercased()] {
            return "; did you mean \"\(weights)\", with --activations int8 where activations can be rounded, too?"
                + Self.list
        }
        let meant = [separated(specification)].compactMap(\.self) + meant(by: name)
        let names = meant.isEmpty ? equallyNearTypes(to: name, among: known) : meant
        guard !names.isEmpty else { return ";" + Self.list }
        return "; did you mean \(names.map { "\"\($0)\"" }.joined(separator: " or "))?" + Self.list
    }

    private static let list = " \"accelc convert --help\" lists all schemes"

    private static var known: [String] { Codecs.all.map { $0.name } + GGMLMix.all.map(\.name) }

    /// Returns the schemes that a name of other tools means, in any case of letters; empty for a name that no tool has.
    private static func meant(by name: String) -> [String] {
        let plain = name.lowercased().filter { !"-_ ".contains($0) }
        let own = known.first { $0 == name.lowercased() || $0.filter { $0 != "_" } == plain }
        return (own ?? others[plain]).map { [$0] } ?? bits(of: plain)
    }

    /// Returns the schemes with the number of bits in `4bit`, `int3` or `palette6`; empty for other names.
    private static func bits(of plain: String) -> [String] {
        var text = plain[...]
        let isPalette = ["palette", "lut", "kmeans"].contains(where: text.hasPrefix)
        let isInteger = ["int", "w", "q"].contains(where: text.hasPrefix)
        for prefix in ["int", "w", "q", "palette", "lut", "kmeans"] where text.hasPrefix(prefix) {
            text = text.dropFirst(prefix.count)
        }
        for suffix in ["bits", "bit", "b"] where text.hasSuffix(suffix) { text = text.dropLast(suffix.count) }
        guard text.count == 1, let bits = Int(text), (1...8).contains(bits) else { return [] }
        let palette = [valid("palette:bits=\(bits)")].compactMap(\.self)
        let integer = [4: ["int4"], 8: ["int8"]][bits] ?? []
        if isPalette { return palette }
        return isInteger && !integer.isEmpty ? integer : integer + palette
    }

    /// Returns `palette:bits=4,group=16` for `palette:bits=4;group=16`, `palette,bits=4 group=16` and the like; nil if that is no
    /// specification, or the same one.
    static func separated(_ specification: String) -> String? {
        guard let end = specification.firstIndex(where: { ":,; =/".contains($0) }) else { return nil }
        let options = specification[specification.index(after: end)...].split { ",;: /".contains($0) }
        let meant = "\(specification[..<end].lowercased()):\(options.joined(separator: ","))"
        return meant == specification ? nil : valid(meant)
    }

    /// Returns a specification with the names of options that were left out, as in `palette:4`; nil if no option takes the value.
    static func specification(_ text: String, of type: CodecScheme) -> String? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        var options: [String] = []
        for value in text[text.index(after: colon)...].split(whereSeparator: { ",:".contains($0) }).map(String.init) {
            if value.dropFirst().contains("=") {
                options.append(value)
                continue
            }
            // A share of weights, in percent.
            if let target = type.options.first(where: { $0.name == "target" }), let percent = Double(value),
                percent > 1, percent < 100
            {
                options.append("\(target.name)=\(percent / 100)")
                continue
            }
            // The first number is the bits where a scheme has a choice of them.
            let left = type.options.filter { option in !options.contains { $0.hasPrefix("\(option.name)=") } }
            let bits = Int(value) == nil ? nil : left.first { $0.name == "bits" }
            // What fits no option stays without a name: the error about it asks here again.
            guard let option = bits ?? left.first(where: { $0.canonical(value) != nil }) else { return nil }
            options.append("\(option.name)=\(value)")
        }
        return options.isEmpty ? nil : valid("\(type.name):\(options.joined(separator: ","))")
    }

    /// Returns what a scheme takes in place of a word that is no option of it.
    static func form(of word: String, in type: CodecScheme) -> String {
        let options = type.options.filter { !$0.isFilledIn }
        guard let option = options.first(where: { $0.name == "bits" && Int(word) != nil }) ?? options.first else {
            return "; \(type.name) takes no options"
        }
        return "; it takes \(type.name):\(option.name)=VALUE, with \(option.accepted) for VALUE"
    }

    /// Returns a specification if it is valid.
    private static func valid(_ specification: String) -> String? {
        (try? Codecs.codec(specification)) == nil ? nil : specification
    }
}
