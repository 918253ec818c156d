import ByteIO

/// A reader that is fed with anything. It may throw; it must not trap, hang, or take memory without bound.
struct FuzzTarget: Sendable {
    let name: String
    /// What the fuzzer starts from.
    let seeds: [[UInt8]]
    /// Reads the bytes, and traps when the reader breaks a promise.
    let run: @Sendable (ByteView) throws -> Void

    /// All targets. A new reader: one file, one line.
    static let all: [FuzzTarget] = [
        safetensors, shardIndex, configuration, json, zip, manifest, sourceMap, program, cacheRecord, recipe, protobuf,
        coreMLModel, coreMLBlobs, coreML, sshSignature, modelSignature, trustPolicy, statistics,
    ]
}
