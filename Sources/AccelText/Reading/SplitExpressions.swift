/// The patterns that tokenizers of language models split text with, by the names that llama.cpp gives them (`tokenizer.ggml.pre`).
enum SplitExpressions {
    /// The expressions that split text for a name, and the other settings of its models.
    struct Rule {
        /// The expressions, applied one after the other; the text between matches is split, too.
        var expressions: [String]
        /// A word of the vocabulary is a token, whatever merges give.
        var ignoresMerges = false
        /// A run of newlines that is a word of the vocabulary is a token, whatever merges give.
        var ignoresMergesOfNewlines = false
        /// A token for the start of the text is added, unless the file declares otherwise.
        var addsStart = false
        /// Words are bytes in the byte alphabet; else UTF-8 with `▁` for spaces.
        var isByteLevel = true
        /// Text is composed (NFC) first.
        var composes = false
    }

    static func rule(_ name: String) -> Rule? { rules[name] }

    /// The known names.
    static var names: [String] { rules.keys.sorted() }

    private static let contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    private static let rest = #"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"#
    private static let gpt2 = PreTokenizer.wordExpression
    private static let llama3 = contractions + #"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"# + rest
    static let qwen2 = contractions + #"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"# + rest
    private static let upper = #"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"#
    private static let lower = #"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"#
    private static let slashRest = #"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"#

    /// Words of one case, as in GPT-4o.
    private static func cased(_ upper: String, _ lower: String, _ suffix: String, _ digits: String, _ rest: String)
        -> String
    {
        let start = #"[^\r\n\p{L}\p{N}]?"#
        return "\(start)\(upper)*\(lower)+\(suffix)|\(start)\(upper)+\(lower)*\(suffix)|\(digits)\(rest)"
    }

    private static let gpt4o = cased(upper, lower, contractions + "?", #"\p{N}{1,3}"#, slashRest)
    private static let ideographs = "[一-龥\u{3040}-ゟ゠-ヿ]+"
    private static let deepseek3 =
        ##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##
    private static let bloom = #" ?[^(\s|.,!?…。，、।۔،)]+"#
    private static let notHan = #"&&[^\p{Han}]]"#
    private static let kimi =
        #"[\p{Han}]+|"#
        + cased(
            #"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"# + notHan, #"[\p{Ll}\p{Lm}\p{Lo}\p{M}"# + notHan, contractions + "?",
            #"\p{N}{1,3}"#, rest)
    private static let latin =
        #"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"#
    private static let manySpaces =
        [512, 256, 128, 64, 32, 16, 8, 4].map { #"|\s{\#($0)}(?!\S)"# }.joined() + #"|\s{1,2}(?!\S)|\s{1}"#

    private static let rules: [String: Rule] = {
        var rules: [String: Rule] = [:]
        func add(_ names: [String], _ rule: Rule) { for name in names { rules[name] = rule } }
        add(
            [
                "gpt-2", "phi-2", "jina-es", "jina-de", "gigachat", "jina-v2-es", "jina-v2-de", "a.x-4.0", "mellum",
                "modern-bert", "jina-v1-en", "jina-v2-code", "roberta-bpe", "mpt", "olmo", "jais", "trillion",
                "granite-docling", "exaone4",
            ], Rule(expressions: [gpt2]))
        add(
            ["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"],
            Rule(expressions: [#"\p{N}"#, gpt2]))
        add(
            [
                "llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
                "jina-v5-nano",
            ], Rule(expressions: [llama3], ignoresMerges: true, addsStart: true))
        add(["dbrx", "smaug-bpe", "glm4", "chatglm-bpe"], Rule(expressions: [llama3]))
        add(
            [
                "qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "stablelm2", "megrez", "hunyuan", "solar-open",
                "grok-2",
            ], Rule(expressions: [qwen2], composes: false))
        add(
            ["qwen35"],
            Rule(expressions: [
                contractions
                    + #"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"#
            ]))
        add(
            ["jais-2"],
            Rule(expressions: [
                contractions + #"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"#
                    + manySpaces
            ]))
        add(
            ["minicpm5"],
            Rule(
                expressions: [#"\p{N}{1,3}"#, contractions + #"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+"# + rest],
                ignoresMerges: true))
        add(["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"], Rule(expressions: [gpt4o]))
        add(["granite-embed-multi-97m"], Rule(expressions: [gpt4o], ignoresMerges: true))
        add(["tiny_aya", "cohere2moe"], Rule(expressions: [#"\d{1,3}(?=(?:\d{3})*\b)"#, gpt4o]))
        add(
            ["tekken"],
            Rule(
                expressions: [cased(upper, lower, "", #"\p{N}"#, slashRest)], ignoresMerges: true, addsStart: true))
        add(["kimi-k2"], Rule(expressions: [kimi]))
        add(
            ["deepseek-llm"],
            Rule(expressions: [
                #"[\r\n]"#, latin, #"\s?[!-/:-~！-／：-～‘-‟\x{3000}-。]+"#, #"\s+$"#, "[一-龥ࠀ-一가-퟿]+", #"\p{N}+"#,
            ]))
        add(
            ["deepseek-coder"],
            Rule(expressions: [
                #"[\r\n]"#, #"\s?\p{L}+"#, #"\s?\p{P}+"#, "[一-龥ࠀ-一가-퟿]+", #"\p{N}"#,
            ]))
        add(["deepseek-v3", "hunyuan-dense", "joyai-llm"], Rule(expressions: [#"\p{N}{1,3}"#, ideographs, deepseek3]))
        add(
            ["youtu"],
            Rule(
                expressions: [
                    "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|" + ideographs,
                    cased(upper, lower, contractions + "?", #"\p{N}"#, slashRest),
                ], ignoresMerges: true))
        add(["falcon"], Rule(expressions: [#"[\p{P}\$\+<=>\^~\|`]+"#, gpt2, "[0-9][0-9][0-9]"]))
        add(["poro-chat", "bloom", "gpt3-finnish"], Rule(expressions: [bloom]))
        add(["viking"], Rule(expressions: [bloom, #"\p{N}"#]))
        add(
            ["chameleon"],
            Rule(
                expressions: [
                    "<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", #"([\t\n]|    |  )"#, #"\p{N}"#,
                    #"[\p{P}!-/:-@\[-`{-~]"#, gpt2,
                ], addsStart: true))
        add(["superbpe"], Rule(expressions: [#"\p{N}+"#, #"(?=(\d{3})+(?!\d))"#]))
        add(
            ["bailingmoe", "bailingmoe2", "llada-moe"],
            Rule(expressions: [
                #"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"#
            ]))
        add(
            ["seed-coder"],
            Rule(expressions: [
                contractions
                    + #"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"#
            ]))
        add(
            ["exaone-moe"],
            Rule(expressions: [
                contractions
                    + #"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"#
            ]))
        add(["laguna"], Rule(expressions: [#"[^\n]+|[\n]+"#, qwen2]))
        let lines = Rule(expressions: [#"[^\n]+|[\n]+"#], isByteLevel: false)
        add(["granite-embed-multi-311m", "sarvam-moe"], lines)
        var gemma4 = lines
        gemma4.ignoresMergesOfNewlines = true
        add(["gemma4"], gemma4)
        add(["default", ""], Rule(expressions: [#"[\p{P}\$\+<=>\^~\|]+"#, gpt2, #"\p{N}+"#, "[0-9][0-9][0-9]"]))
        return rules
    }()
}
