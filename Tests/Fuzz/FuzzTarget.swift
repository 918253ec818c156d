import AccelByteIO

/// A reader that is fed with anything. It may throw; it must not trap, hang, or take memory without bound.
struct FuzzTarget: Sendable {
    let name: String
    /// What the fuzzer starts from.
    let seeds: @Sendable () -> [[UInt8]]
    /// Reads the bytes, and traps when the reader breaks a promise.
    let run: @Sendable (ByteView) throws -> Void

    init(
        name: String, seeds: @autoclosure @escaping @Sendable () -> [[UInt8]],
        run: @escaping @Sendable (ByteView) throws -> Void
    ) {
        (self.name, self.seeds, self.run) = (name, seeds, run)
    }

    /// All targets. A new reader: one file, one line.
    static let all: [FuzzTarget] = [
        safetensors, shardIndex, configuration, json, zip, manifest, sourceMap, graph, weightIndex, cacheRecord, recipe,
        protobuf,
        coreMLModel, coreMLBlobs, coreML, coreAI, gguf, importance, sshSignature, modelSignature, trustPolicy,
        statistics, ctranslate2, whisperCPP, quantized, adapter, cInterface, tokenizerFiles, tokenizerTexts,
        sound, image,
    ]
}
