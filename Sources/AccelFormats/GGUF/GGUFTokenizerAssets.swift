import AccelByteIO
import AccelFrontEnds
import AccelPackages

/// The tokenizer and the chat templates of a GGUF file as files of a package: the entries `tokenizer.*` as JSON, and each template as
/// Hugging Face stores it.
enum GGUFTokenizerAssets {
    static let name = TextFrontEnd.ggufFile
    private static let prefix = "tokenizer."
    private static let template = "tokenizer.chat_template"

    /// Returns the files; none for a file without tokens.
    static func assets(of file: GGUFFile) -> [Asset] {
        guard file["tokenizer.ggml.tokens"] != nil else { return [] }
        let entries = file.metadata.filter { $0.key.hasPrefix(prefix) }
        var assets = [
            asset(name, JSON.object(entries.map { JSON.Member($0.key, $0.value.json) }).text())
        ]
        for (key, value) in entries {
            guard case .string(let text) = value else { continue }
            if key == template {
                assets.append(asset("chat_template.jinja", text))
            } else if key.hasPrefix(template + "."), let name = fileName(String(key.dropFirst(template.count + 1))) {
                assets.append(asset("chat_templates/\(name).jinja", text))
            }
        }
        return assets
    }

    /// Returns the entries of a file from its asset, with the types that llama.cpp reads.
    /// - Throws: `FormatError` naming the entry, if it is none of a tokenizer.
    static func entries(of document: JSONField) throws -> [(key: String, value: GGUFValue)] {
        try document.members().map { key, field in
            guard key.hasPrefix(prefix) else { throw field.error("is no entry of a tokenizer") }
            return (key, try value(field, ofScores: key.hasSuffix(".scores"), bytes: key.hasSuffix("charsmap")))
        }
    }

    private static func value(_ field: JSONField, ofScores: Bool, bytes: Bool) throws -> GGUFValue {
        switch field.value {
        case .string(let text)?: return .string(text)
        case .bool(let flag)?: return .bool(flag)
        case .integer?: return .uint32(UInt32(try field.int(in: 0...Int(UInt32.max))))
        case .number?: return .float32(Float(try field.double()))
        default: break
        }
        let elements = try field.array()
        if ofScores { return .floats(try elements.map { Float(try $0.double()) }) }
        if bytes { return .array(.uint8, try elements.map { .uint8(UInt8(try $0.int(in: 0...255))) }) }
        if case .integer? = elements.first?.value {
            return .integers(try elements.map { Int32(try $0.int(in: Int(Int32.min)...Int(Int32.max))) })
        }
        return .strings(try elements.map { try $0.string() })
    }

    private static func asset(_ name: String, _ text: String) -> Asset {
        Asset(name: name, content: ByteView(Array(text.utf8)))
    }

    /// Returns a template's name if it can be a file's: letters, digits, `_` and `-`.
    private static func fileName(_ name: String) -> String? {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        return isPlain && !name.isEmpty ? name : nil
    }
}
