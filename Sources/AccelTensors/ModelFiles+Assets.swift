import AccelByteIO

extension ModelFiles {
    private static let assetNames: Set<String> = [
        "added_tokens.json", "chat_template.jinja", "chat_template.json", "config.json",
        "config_sentence_transformers.json", "generation_config.json", "merges.txt", "modules.json", "normalizer.json",
        "preprocessor_config.json", "processor_config.json", "sentence_bert_config.json", "special_tokens_map.json",
        "vocab.json", "vocab.txt",
    ]

    /// Opens the files that every package passes through: known names, templates in `chat_templates`, and `config.json` in folders
    /// named like modules of sentence-transformers, such as `1_Pooling`.
    package func openAssets() throws {
        for name in try names() {
            if Self.assetNames.contains(name) || name.hasSuffix(".model")
                || name.hasPrefix("tokenizer") && name.hasSuffix(".json")
            {
                try openIfFile(name)
            } else if name == "chat_templates", Files.kind(of: path(of: name)) == .folder {
                for template in try Files.list(path(of: name)) where template.hasSuffix(".jinja") {
                    try openIfFile("\(name)/\(template)")
                }
            } else if Self.isModule(name) {
                try openIfFile("\(name)/config.json")
            }
        }
    }

    /// Whether a folder is named like a module of sentence-transformers: digits, `_` and letters.
    private static func isModule(_ name: String) -> Bool {
        let digits = name.utf8.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        let rest = name.utf8.dropFirst(digits.count)
        let letters = rest.dropFirst()
        return !digits.isEmpty && rest.first == UInt8(ascii: "_") && !letters.isEmpty
            && letters.allSatisfy { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }
    }

    private func openIfFile(_ name: String) throws {
        if Files.kind(of: path(of: name)) == .file { _ = try open(name) }
    }
}
