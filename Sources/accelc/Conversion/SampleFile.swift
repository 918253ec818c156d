import AccelByteIO
import AccelTensors

/// A file of sample inputs, read once: the samples that are run are those of its digest.
struct SampleFile {
    let path: String
    let tensors: [StoredTensor]
    /// `TreeDigest` of the file.
    let digest: Digest

    init(_ path: String) throws {
        let bytes = try FileContent(path, atMost: .max).bytes
        self.path = path
        tensors = try SafetensorsFile(bytes, file: path).tensors
        digest = TreeDigest.digest(of: bytes)
    }
}
