public import AccelByteIO

extension GGUFVocabulary {
    /// Returns the same tokenizer as a tokenizer.json of Hugging Face's `tokenizers`.
    /// - Returns: nil for a kind of model whose tokenizer.json would give other tokens: `bert`, `t5` and `gemma4`.
    /// - Throws: `FormatError` naming the entry, for one that is not valid.
    public func document() throws -> JSON? {
        let pipeline = try pipeline()
        switch model {
        case "gpt2":
            guard let rule = SplitExpressions.rule(pre), rule.isByteLevel, !rule.ignoresMergesOfNewlines else {
                return nil
            }
            return byteLevel(rule, pipeline)
        case "llama": return try sentencePiece(pipeline)
        default: return nil
        }
    }

    private func byteLevel(_ rule: SplitExpressions.Rule, _ pipeline: Pipeline) -> JSON {
        let splits = rule.expressions.map { expression -> JSON in
            ["type": "Split", "pattern": ["Regex": .string(expression)], "behavior": "Isolated", "invert": false]
        }
        let bytes: JSON = [
            "type": "ByteLevel", "add_prefix_space": .bool(addsSpacePrefix ?? false), "trim_offsets": false,
            "use_regex": false,
        ]
        return document(
            normalizer: rule.composes ? ["type": "NFC"] : .null,
            preTokenizer: ["type": "Sequence", "pretokenizers": .array(splits + [bytes])],
            decoder: ["type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true],
            options: [.init("ignore_merges", .bool(rule.ignoresMerges))], merges: merges, pipeline)
    }

    private func sentencePiece(_ pipeline: Pipeline) throws -> JSON {
        let addsPrefix = addsSpacePrefix ?? true
        let prepend: JSON = ["type": "Prepend", "prepend": "\u{2581}"]
        let strip: JSON = ["type": "Strip", "content": " ", "start": 1, "stop": 0]
        func replacing(_ text: JSON, by other: JSON) -> JSON {
            ["type": "Replace", "pattern": ["String": text], "content": other]
        }
        let decoders = [replacing("\u{2581}", by: " "), ["type": "ByteFallback"], ["type": "Fuse"]]
        return document(
            normalizer: [
                "type": "Sequence",
                "normalizers": .array((addsPrefix ? [prepend] : []) + [replacing(" ", by: "\u{2581}")]),
            ],
            preTokenizer: .null,
            decoder: ["type": "Sequence", "decoders": .array(decoders + (addsPrefix ? [strip] : []))],
            options: [
                .init("unk_token", unknownToken.map { .string(tokens[Int($0)]) } ?? .null), .init("fuse_unk", true),
                .init("byte_fallback", .bool(tokens.contains("<0x00>"))),
            ],
            merges: try pieces().impliedMerges(vocabulary).enumerated()
                .sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
                .map { "\(tokens[Int($0.element.left)]) \(tokens[Int($0.element.right)])" }, pipeline)
    }

    private func document(
        normalizer: JSON, preTokenizer: JSON, decoder: JSON, options: [JSON.Member], merges: [String],
        _ pipeline: Pipeline
    ) -> JSON {
        let added = added.map { token -> JSON in
            [
                "id": .integer(Int64(token.id)), "content": .string(token.content),
                "single_word": .bool(token.isSingleWord), "lstrip": .bool(token.stripsLeft),
                "rstrip": .bool(token.stripsRight), "normalized": .bool(token.isNormalized),
                "special": .bool(token.isSpecial),
            ]
        }
        let words = tokens.enumerated().map { JSON.Member($1, .integer(Int64($0))) }
        let model =
            [.init("type", "BPE")] + options + [
                JSON.Member("vocab", .object(words)), .init("merges", .array(merges.map(JSON.string))),
            ]
        return [
            "version": "1.0", "truncation": .null, "padding": .null, "added_tokens": .array(added),
            "normalizer": normalizer, "pre_tokenizer": preTokenizer, "post_processor": template(of: pipeline),
            "decoder": decoder, "model": .object(model),
        ]
    }

    /// The tokens around a text as a post-processor; null if there are none.
    private func template(of pipeline: Pipeline) -> JSON {
        guard case .template(let template)? = pipeline.postProcessor else { return .null }
        var special: [JSON.Member] = []
        func part(_ part: Template.Part) -> [JSON] {
            switch part {
            case .text(let index, let type):
                return [["Sequence": ["id": index == 0 ? "A" : "B", "type_id": .integer(Int64(type))]]]
            case .tokens(let ids, let type):
                return ids.map { id in
                    let name = tokens[Int(id)]
                    if !special.contains(where: { $0.key == name }) {
                        let ids = JSON.array([.integer(Int64(id))])
                        special.append(
                            .init(name, ["id": .string(name), "ids": ids, "tokens": .array([.string(name)])]))
                    }
                    return ["SpecialToken": ["id": .string(name), "type_id": .integer(Int64(type))]]
                }
            }
        }
        let (single, pair) = (template.single.flatMap(part), template.pair.flatMap(part))
        return [
            "type": "TemplateProcessing", "single": .array(single), "pair": .array(pair),
            "special_tokens": .object(special),
        ]
    }
}
