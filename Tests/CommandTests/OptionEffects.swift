import Testing

/// A run in which an option changes something: what is printed, the exit status, or what is left behind. In `line`,
/// `[WITH / WITHOUT]` stands for the words of the run with the option and of the other one.
struct OptionEffect: Sendable, CustomTestStringConvertible {
    let option: String
    let line: String
    var testDescription: String { line }

    var command: String { String(line.prefix { $0 != " " }) }

    /// The option says what is printed beside a result.
    var isOfMessages: Bool { ["quiet", "verbose", "progress"].contains(option) }

    /// Whether a file or folder, or something in it, stands in the line.
    func mentions(_ name: String) -> Bool {
        line.split(separator: " ").contains { $0 == name || $0.hasPrefix("\(name)/") }
    }

    /// - Parameter index: 0: with the option; 1: without.
    func words(_ index: Int) -> [String] {
        var words: [String] = []
        var place = 2
        for word in line.split(separator: " ") {
            switch word {
            case "[": place = 0
            case "/" where place == 0: place = 1
            case "]": place = 2
            default: if place == 2 || place == index { words.append(String(word)) }
            }
        }
        return words
    }
}

extension OptionEffect {
    private static let bert = "bert --shape batch=1,sequence=4"
    private static let qwen = "qwen --shape batch=1,tokens=2,cache=4"
    /// Its configuration has a field that its class reads, and the family does not.
    private static let surprising = "qwen/model.safetensors --config surprise.json"
    private static let samples = "--calibrate bert/golden.safetensors"

    private static let ofText = "enc --shape batch=1,sequence=4 --compress int8:method=gptq --calibrate lines.txt"
    private static let speech = "run k.accelpkg --voice kokoro/voice.safetensors"
    private static let answer = "run l.accelpkg --generate 8 --prompt a"
    private static let onText = "--only container --text lines.txt"

    /// For both commands that make something of a model; NEW stands for the command and its output.
    private static let conversion: [(String, String)] = [
        ("part", "NEW clip --shape-from clip/golden.safetensors [ --part vision ]"),
        ("shape", "NEW bert [ --shape batch=1,sequence=4 / --shape batch=1,sequence=5 ]"),
        ("shape-from", "NEW bert [ --shape-from bert/golden.safetensors / --shape batch=1,sequence=5 ]"),
        ("logits", "NEW \(qwen) [ --logits last ]"),
        ("compress", "NEW \(bert) [ --compress float32 ]"),
        ("recipe", "NEW \(bert) [ --recipe recipe.json ]"),
        ("activations", "NEW \(bert) --compress int8 [ --activations int8 ]"),
        ("calibrate", "NEW \(bert) --compress int8:method=gptq [ \(samples) ]"),
        ("importance", "NEW \(bert) --compress int4:method=weighted [ --importance imatrix.gguf ]"),
        ("config", "NEW bert/model.safetensors --shape batch=1,sequence=4 [ --config other.json ]"),
        ("adapter", "NEW \(bert) [ --adapter adapter ]"),
        ("strict", "NEW \(bert) --recipe idle.json [ --strict ]"),
        ("target-size", "NEW \(bert) \(samples) [ --target-size 30kB / --target-size 40kB ]"),
        ("target-bits", "NEW \(bert) \(samples) [ --target-bits 5 / --target-bits 8 ]"),
        ("min-sqnr", "NEW \(bert) \(samples) [ --min-sqnr 5 / --min-sqnr 30 ]"),
        ("plan", "NEW \(bert) \(samples) --target-bits 6 [ --plan elsewhere ]"),
        ("no-plan", "NEW \(bert) \(samples) --target-bits 6 [ --no-plan ]"),
        ("cache", "NEW \(bert) [ --cache elsewhere ]"),
        ("no-cache", "NEW \(bert) [ --no-cache ]"),
        (
            "ignore-config",
            "NEW \(surprising) --shape batch=1,tokens=2,cache=4 [ --ignore-config attention_chunk_size ]"
        ),
        ("interface", "NEW functions.mlpackage [ --interface roles.json ]"),
        ("ignore-tensor", "NEW \(bert) [ --ignore-tensor nothing ]"),
        ("trust-shared-cache", "NEW \(bert) --cache shared --json [ --trust-shared-cache ]"),
        ("samples", "NEW \(ofText) [ --samples 1 ]"), ("sample-length", "NEW \(ofText) [ --sample-length 4 ]"),
        ("remote-cache", "NEW \(bert) --json [ --remote-cache http://127.0.0.1:1/x ]"),
    ]

    static let all: [OptionEffect] =
        conversion.flatMap { option, line in
            [("convert", "-o new.accelpkg"), ("export", "--format coreml -o new.mlpackage")].map { command, words in
                OptionEffect(option: option, line: line.replacing("NEW", with: "\(command) \(words)"))
            }
        }
        + [
            ("quiet", "convert -o q \(bert) [ --quiet ]"), ("verbose", "convert -o q \(bert) [ --verbose ]"),
            ("progress", "convert -o q \(bert) [ --progress lines ]"),
            ("timeout", "convert -o q \(bert) [ --timeout 0.000001 ]"),
            ("output", "convert \(bert) -o [ q / r ]"), ("zip", "convert -o q \(bert) [ --zip ]"),
            ("shard", "convert \(bert) [ --shard 1/2 ]"),
            ("probe", "convert -o q \(bert) [ --probe ]"),
            ("profile", "convert -o q bert --shape batch=4000,sequence=40 [ --profile watch ]"),
            ("calibrate", "convert -o q \(bert) --compress int8 --activations int8:static [ \(samples) ]"),
            (
                "verify-cache",
                "convert -o q bert --shape-from bert/golden.safetensors --cache damaged --json [ --verify-cache ]"
            ),
            ("json", "convert -o q \(bert) [ --json ]"),
            ("states", "convert -o q \(qwen) [ --states float16 ]"),
            // Core ML keeps states in float16 whatever is asked; of a model without states, the option is rejected.
            ("states", "export --format coreml -o q.mlpackage \(bert) [ --states float16 ]"),

            ("against", "verify p.accelpkg --golden bert/golden.safetensors [ --against bert ]"),
            ("interface", "verify f.accelpkg --against functions.mlpackage [ --interface roles.json ]"),
            ("adapter", "verify p.accelpkg --against bert [ --adapter adapter ]"),
            ("config", "verify p.accelpkg --against bert [ --config other.json ]"),
            (
                "ignore-config",
                "verify d.accelpkg --against \(surprising) --only weights [ --ignore-config attention_chunk_size ]"
            ),
            ("inputs", "verify p.accelpkg --against bert [ --inputs bert/golden.safetensors ]"),
            ("golden", "verify p.accelpkg --against bert [ --golden bert/golden.safetensors ]"),
            ("seed", "verify p.accelpkg --against bert [ --seed 2 ]"),
            ("budget", "verify p.accelpkg --against bert [ --budget budget.json ]"),
            ("min-sqnr", "verify p.accelpkg --against bert [ --min-sqnr 20 ]"),
            ("profile", "verify p.accelpkg --against bert --json [ --profile watch ]"),
            ("only", "verify p.accelpkg --against bert [ --only weights ]"),
            ("report", "verify p.accelpkg --against bert [ --report r.json ]"),
            ("html", "verify p.accelpkg --against bert [ --html r.html ]"),
            ("self-test", "verify p.accelpkg --against bert [ --self-test ]"),
            ("json", "verify p.accelpkg --against bert [ --json ]"),
            ("runtime", "verify gguf --against llama [ --runtime llama --runtimes runtimes ]"),
            ("runtimes", "verify gguf --against llama --runtime llama [ --runtimes runtimes / --runtimes gguf ]"),
            ("python", "verify gguf --against llama --runtime llama --runtimes runtimes [ --python no-such-python ]"),
            (
                "runtime-timeout",
                "verify gguf --against llama --runtime llama --runtimes runtimes [ --runtime-timeout 0.000001 ]"
            ),

            ("samples", "verify s.accelpkg --against enc --inputs lines.txt [ --samples 1 ]"),
            ("sample-length", "verify s.accelpkg --against enc --inputs lines.txt [ --sample-length 4 ]"),
            ("text", "verify s.accelpkg --against enc --only container [ --text lines.txt ]"),
            ("context", "verify l.accelpkg --against llm \(onText) [ --context 8 ]"),
            ("chunks", "verify l.accelpkg --against llm \(onText) --context 8 [ --chunks 1 ]"),
            ("cache", "verify s.accelpkg --against enc \(onText) [ --cache elsewhere ]"),

            ("output", "verify-record p.mlpackage -o [ q / r ]"),
            ("inputs", "verify-record p.mlpackage -o q [ --inputs bert/golden.safetensors ]"),
            ("golden", "verify-record p.mlpackage -o q [ --golden bert/golden.safetensors ]"),
            ("seed", "verify-record p.mlpackage -o q [ --seed 2 ]"),
            ("budget", "verify-replay bundle bundle/expected.safetensors [ --budget budget.json ]"),
            ("report", "verify-replay bundle bundle/expected.safetensors [ --report r.json ]"),
            ("html", "verify-replay bundle bundle/expected.safetensors [ --html r.html ]"),
            ("json", "verify-replay bundle bundle/expected.safetensors [ --json ]"),

            ("prompt", "run l.accelpkg --generate 4 --prompt [ a / b ]"),
            ("messages", "run l.accelpkg --generate 4 [ --messages chat.json / --prompt a ]"),
            ("chat", "run l.accelpkg --generate 4 [ --chat / --prompt a ]"),
            ("text", "run s.accelpkg --text [ a / b ]"), ("truncate", "run s.accelpkg --text long.txt [ --truncate ]"),
            ("search", "run s.accelpkg --text a [ --search lines.txt ]"),
            ("nearest", "run s.accelpkg --text a --search lines.txt [ --nearest 1 ]"),
            ("image", "run v.accelpkg --image [ photo.png / photo.jpg ]"),
            ("audio", "run w.accelpkg --audio [ talk.wav / other.wav ]"),
            ("task", "run w.accelpkg --audio talk.wav [ --task translate ]"),
            ("vad", "run w.accelpkg --audio talk.wav [ --vad silent.accelpkg ]"),
            ("language", "run w.accelpkg --audio talk.wav [ --language de ]"),
            ("format", "run w.accelpkg --audio talk.wav [ --format srt ]"),
            ("phonemes", "\(speech) --audio-output q --phonemes [ ab / ba ]"),
            (
                "voice",
                "run k.accelpkg --phonemes ab --audio-output q --voice [ kokoro/voice.safetensors / other.safetensors ]"
            ),
            ("speed", "\(speech) --phonemes ab --audio-output q [ --speed 0.5 ]"),
            ("audio-output", "\(speech) --phonemes ab --audio-output [ q / r ]"),
            (
                "vocoder",
                "run o.accelpkg --prompt a --audio-output q --vocoder [ snac.accelpkg / quiet.accelpkg ]"
            ),
            ("system", "\(answer) --temperature 0 [ --system b ]"), ("raw", "\(answer) --temperature 0 [ --raw ]"),
            ("temperature", "\(answer) [ --temperature 0 ]"), ("top-k", "\(answer) [ --top-k 1 ]"),
            ("top-p", "\(answer) [ --top-p 0 ]"), ("min-p", "\(answer) [ --min-p 1 ]"),
            ("repetition-penalty", "\(answer) --temperature 0 [ --repetition-penalty 9 ]"),
            ("seed", "\(answer) [ --seed 7 ]"),
            ("compress", "run llm --generate 8 --prompt a --temperature 0 [ --compress palette:bits=1 ]"),
            ("inputs", "run p.accelpkg --inputs [ bert/golden.safetensors / qwen/golden.safetensors ]"),
            ("no-check", "run damaged.accelpkg --inputs bert/golden.safetensors [ --no-check ]"),
            ("outputs", "run p.accelpkg --inputs bert/golden.safetensors [ --outputs out.safetensors ]"),
            ("time", "run p.accelpkg --inputs bert/golden.safetensors [ --time ]"),
            ("repeat", "run p.accelpkg --inputs bert/golden.safetensors --time [ --repeat 2 ]"),
            ("profile", "run p.accelpkg --inputs bert/golden.safetensors [ --profile ]"),
            ("trace", "run p.accelpkg --inputs bert/golden.safetensors [ --trace t.json ]"),
            (
                "packed-weights",
                "run p.accelpkg --inputs bert/golden.safetensors [ --packed-weights --cache elsewhere ]"
            ),
            ("cache", "run p.accelpkg --inputs bert/golden.safetensors --packed-weights [ --cache elsewhere ]"),
            ("json", "run p.accelpkg --inputs bert/golden.safetensors [ --json ]"),
            (
                "backend",
                "run p.accelpkg --inputs bert/golden.safetensors --outputs out.safetensors [ --backend reference ]"
            ),
            ("generate", "run d.accelpkg --inputs qwen/golden.safetensors [ --generate 2 ]"),
            (
                "stop-token",
                "run d.accelpkg --inputs qwen/golden.safetensors --generate 2 [ --stop-token "
                    + (0..<47).map { "\($0)" }.joined(separator: ",") + " / --stop-token none ]"
            ),
            ("save-states", "run d.accelpkg --inputs qwen/golden.safetensors [ --save-states s.safetensors ]"),
            (
                "function",
                "run d.accelpkg --inputs qwen/golden.safetensors [ --function decoder[batch=1,cache=14,tokens=9] ]"
            ),

            ("config", "inspect bert/model.safetensors [ --config bert/config.json ]"),
            (
                "ignore-config",
                "inspect \(surprising) [ --ignore-config attention_chunk_size ]"
            ),
            ("shape", "inspect bert [ --shape batch=1,sequence=3 ]"), ("tensors", "inspect bert [ --tensors ]"),
            ("graph", "inspect p.accelpkg [ --graph ]"),
            ("plan", "inspect p.accelpkg [ --plan ]"), ("operators", "inspect p.accelpkg [ --operators ]"),
            ("check", "inspect damaged.accelpkg [ --check ]"), ("lint", "inspect p.mlpackage [ --lint ]"),
            ("json", "inspect p.accelpkg [ --json ]"),

            ("output", "decompress p.accelpkg -o [ q / r ]"),
            ("dtype", "decompress p.accelpkg -o q [ --dtype float16 ]"),
            ("json", "diff p.accelpkg d.accelpkg [ --json ]"),

            ("format", "export p.accelpkg -o q [ --format coreml ]"),
            ("output", "export p.accelpkg --format coreml -o [ q.mlpackage / r.mlpackage ]"),
            ("target", "export p.accelpkg --format coreml -o q.mlpackage [ --target iOS26 ]"),
            ("precision", "export p.accelpkg --format coreml -o q.mlpackage [ --precision float32 ]"),
            ("layout", "export p.accelpkg --format coreml -o q.mlpackage [ --layout ane ]"),
            (
                "shapes-as",
                "export \(bert) --shape batch=1,sequence=5 --format coreml -o q.mlpackage [ --shapes-as enumerated ]"
            ),
            (
                "inputs-as",
                "export clip --part vision --shape-from clip/golden.safetensors --format coreml -o q.mlpackage [ --inputs-as float16 ]"
            ),
            ("outputs-as", "export p.accelpkg --format coreml -o q.mlpackage [ --outputs-as float16 ]"),
            ("contract", "export whisper --format coreml -o q [ --contract whisperkit ]"),
            (
                "allow-fallback",
                "export \(bert) --compress outliers:share=0.01+int8 --format coreml -o q.mlpackage [ --allow-fallback ]"
            ),
            ("composites", "export p.accelpkg --format coreai -o q.aimodel [ --composites no ]"),
            ("engine", "export p.accelpkg --format coreai -o q.aimodel [ --engine static ]"),
            ("quantization", "export qwen --format ctranslate2 -o q [ --quantization int8 ]"),
            (
                "better-scales",
                "export qwen --format ctranslate2 --quantization int8_float16 -o q [ --better-scales ]"
            ),
            ("json", "export p.accelpkg --format coreml -o q.mlpackage [ --json ]"),

            ("output", "importance bert \(samples) -o [ q / r ]"),
            ("calibrate", "importance bert -o q --calibrate [ bert/golden.safetensors / qwen/golden.safetensors ]"),
            (
                "config",
                "importance bert/model.safetensors \(samples) -o q --config [ other.json / bert/config.json ]"
            ),
            (
                "ignore-config",
                "importance \(surprising) --calibrate qwen/golden.safetensors -o q [ --ignore-config attention_chunk_size ]"
            ),
            ("adapter", "importance bert \(samples) -o q [ --adapter adapter ]"),

            ("samples", "importance enc -o q --calibrate lines.txt [ --samples 1 ]"),
            ("sample-length", "importance enc -o q --calibrate lines.txt [ --sample-length 4 ]"),

            ("allowed-signers", "check-signature p.accelpkg --identity a [ --allowed-signers recipe.json ]"),
            ("identity", "check-signature p.accelpkg --allowed-signers recipe.json [ --identity a ]"),
            ("public-key", "check-signature p.accelpkg [ --public-key recipe.json ]"),
            ("trust", "check-signature p.accelpkg [ --trust trust.json ]"),
            ("allow-unsigned", "check-signature p.accelpkg --trust trust.json [ --allow-unsigned ]"),
            ("json", "check-signature p.accelpkg --trust trust.json --allow-unsigned [ --json ]"),

            ("json", "version [ --json ]"),
            ("cache", "cache path [ --cache elsewhere ]"),
            ("remote-cache", "cache get \(bert) [ --remote-cache http://127.0.0.1:1/x ]"),
            ("max-size", "cache gc --cache filled [ --max-size 0 ]"),
            ("min-age", "cache gc --cache filled --max-size 0 [ --min-age 0s ]"),
            ("min-free", "cache gc --cache filled --min-age 0s [ --min-free 8000TB ]"),
            ("repair", "cache fsck --cache damaged [ --repair ]"), ("json", "cache path [ --json ]"),
            ("part", "cache explain --shape-from clip/golden.safetensors clip [ --part vision ]"),
            ("shape", "cache explain bert [ --shape batch=1,sequence=4 / --shape batch=1,sequence=5 ]"),
            ("shape-from", "cache explain bert [ --shape-from bert/golden.safetensors / --shape batch=1,sequence=5 ]"),
            ("logits", "cache explain \(qwen) [ --logits last ]"),
            ("compress", "cache explain \(bert) [ --compress float32 ]"),
            ("recipe", "cache explain \(bert) [ --recipe recipe.json ]"),
            ("strict", "cache explain \(bert) --recipe idle.json [ --strict ]"),
            ("activations", "cache explain \(bert) [ --activations int8 ]"),
            ("calibrate", "cache explain \(bert) --compress int8:method=gptq [ \(samples) ]"),
            ("samples", "cache explain \(ofText) [ --samples 1 ]"),
            ("sample-length", "cache explain \(ofText) [ --sample-length 4 ]"),
            ("importance", "cache explain \(bert) --compress int4:method=weighted [ --importance imatrix.gguf ]"),
            ("adapter", "cache explain \(bert) [ --adapter adapter ]"),
            ("states", "cache explain \(qwen) [ --states float16 ]"),
            ("config", "cache explain \(bert) [ --config other.json ]"),
            (
                "ignore-config",
                "cache explain \(surprising) --shape batch=1,tokens=2,cache=4 [ --ignore-config attention_chunk_size ]"
            ),
            ("interface", "cache explain functions.mlpackage [ --interface roles.json ]"),
            ("ignore-tensor", "cache explain prefixed --shape batch=1,sequence=4 [ --ignore-tensor classifier.* ]"),
            ("trust-shared-cache", "cache list --cache shared [ --trust-shared-cache ]"),
            ("target-size", "cache explain \(bert) [ --target-size 30kB ]"),
            ("target-bits", "cache explain \(bert) [ --target-bits 5 ]"),
            ("min-sqnr", "cache explain \(bert) [ --min-sqnr 5 ]"),

            ("json", "families [ --json ]"), ("json", "formats [ --json ]"),
            ("man", "help convert [ --man ]"),
        ].map { OptionEffect(option: $0.0, line: $0.1) }

    /// Options whose effect a run of one machine does not show, and what does.
    static let elsewhere: [(option: String, reason: String)] = [
        ("threads", "no output depends on it, which the same law says of every command"),
        ("memory", "no output depends on it: SampleMemoryTests and PeakMemoryTests"),
        ("cache-durability", "what a power cut leaves: the replay of one shows it"),
        ("offline", "no request is made: HubModelTests"),
        ("remote-read-only", "what a server is told: RemoteCacheTests"),
    ]
    /// What needs a key that signs: SigningTests.
    static let signing = [
        "sign key", "sign format", "sign output", "sign json", "sign name", "sign model-version",
        "check-signature signature",
    ]
}
