/// What other tools call the words that options take, in lower case: errors suggest the word that is meant.
enum OtherWords {
    /// Element types.
    static let elementTypes = [
        "fp32": "float32", "f32": "float32", "float": "float32", "single": "float32", "fp16": "float16",
        "f16": "float16", "half": "float16",
    ]
    /// Element types of key/value caches.
    static let states = elementTypes.merging(
        ["i8": "int8", "q8": "int8", "q8_0": "int8", "8": "int8", "8bit": "int8", "16": "float16", "32": "float32"]
    ) { first, _ in first }
    /// Positions of logits.
    static let logits = ["final": "last", "last_token": "last", "last-token": "last", "full": "all", "every": "all"]
    /// Formats, beyond the suffixes of their files.
    static let formats = [
        "mlmodel": "coreml", "mlprogram": "coreml", "llama": "gguf", "llama.cpp": "gguf", "llamacpp": "gguf",
        "ct2": "ctranslate2", "faster-whisper": "ctranslate2", "mlx-lm": "mlx", "whisper": "whisper.cpp",
    ]
    /// Runtimes of exports.
    static let runtimes = [
        "llama.cpp": "llama", "llamacpp": "llama", "llama-cpp-python": "llama", "gguf": "llama", "ct2": "ctranslate2",
        "faster-whisper": "ctranslate2", "mlx-lm": "mlx",
    ]
    /// Backends of a run.
    static let backends = ["ref": "reference"]
    /// Devices.
    static let profiles = [
        "iphone": "phone", "ios": "phone", "mobile": "phone", "android": "phone", "mac": "desktop", "macos": "desktop",
        "laptop": "desktop", "pc": "desktop", "watchos": "watch", "cloud": "server", "host": "current",
        "local": "current",
    ]
    /// Forms of signatures.
    static let signatures = [
        "openssh": "ssh", "openssf": "oms", "sigstore": "oms", "model-signing": "oms", "model_signing": "oms",
    ]
    /// What is left of results after a power cut.
    static let durabilities = ["sync": "fsync", "off": "none", "fullfsync": "full", "f_fullfsync": "full"]
    /// Ways to show progress.
    static let progress = ["off": "none", "no": "none", "never": "none", "plain": "lines", "tty": "bar"]

    /// Words of exporters' options, by the option's name.
    static let exporters: [String: [String: String]] = [
        "target": targets, "precision": elementTypes, "quantization": elementTypes.merging(["bf16": "bfloat16"]) { $1 },
        "layout": ["npu": "ane", "neural-engine": "ane", "neuralengine": "ane", "default": "plain"],
        "shapes-as": ["multifunction": "functions", "enum": "enumerated", "enumeratedshapes": "enumerated"],
        "composites": ["true": "yes", "on": "yes", "1": "yes", "false": "no", "off": "no", "0": "no"],
    ]

    /// Systems by their number, as coremltools names them, and those of the Mac of the same year.
    private static let targets = [("16", "13"), ("17", "14"), ("18", "15"), ("26", "26")].reduce(
        into: [String: String]()
    ) { words, versions in
        let (phone, mac) = versions
        for word in [phone, "\(phone).0", "ios\(phone).0", "ct.target.ios\(phone)", "macos\(mac)"] {
            words[word] = "iOS\(phone)"
        }
    }
}
