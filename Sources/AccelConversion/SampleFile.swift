public import AccelByteIO
public import AccelTensors

/// A file of sample inputs, read once: the samples that are run are those of its digest.
public struct SampleFile: Sendable {
    public let path: String
    public let tensors: [StoredTensor]
    /// `TreeDigest` of the file.
    public let digest: Digest

    /// - Throws: `FormatError` for a file that is no safetensors file, `RequestError` for one that cannot be read.
    public init(_ path: String) throws {
        let bytes = try FileContent(path, atMost: .max).bytes
        self.path = path
        tensors = try SafetensorsFile(bytes, file: path).tensors
        digest = TreeDigest.digest(of: bytes)
    }
}
