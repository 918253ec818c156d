public import AccelByteIO

/// The caller's checks of a model before its weights are downloaded. What they throw ends the download.
public struct HubChecks {
    /// Is called first, with the folder of the snapshot, which has `config.json` and the other configuration files. It is not
    /// called where there are none, as of a GGUF file.
    public var configuration: (_ folder: String) throws -> Void
    /// Is called next, if weights are missing in the cache, with the same folder and the first bytes of all files of weights.
    public var headers: (_ folder: String, _ headers: [HubHeader]) throws -> Void

    /// Creates checks, by default such that accept everything.
    public init(
        configuration: @escaping (_ folder: String) throws -> Void = { _ in },
        headers: @escaping (_ folder: String, _ headers: [HubHeader]) throws -> Void = { _, _ in }
    ) {
        (self.configuration, self.headers) = (configuration, headers)
    }
}

/// The first bytes of a file of weights.
public struct HubHeader: Equatable, Sendable {
    /// The path of the file in the repository.
    public var path: String
    /// The size of the whole file in bytes.
    public var byteCount: Int
    /// The first bytes: of a safetensors file, the length in 8 bytes and the whole JSON header; of any other file, at most 64 KiB.
    public var bytes: ByteView
}
