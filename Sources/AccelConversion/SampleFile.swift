public import AccelByteIO
import AccelCalibration
public import AccelTensors

/// A safetensors file of calibration samples. It is read once, so that its tensors match its digest.
public struct SampleFile: Sendable {
    /// The path that the file was read from.
    public let path: String
    /// The tensors of the file, named by the model inputs that they are for.
    public let tensors: [StoredTensor]
    /// `TreeDigest` of the file.
    public let digest: Digest
    /// A sentence on the part of a text that no sample has; nil for none.
    package let remark: String?

    /// Reads a file into memory.
    /// - Throws: `FormatError` if it is not a safetensors file, `RequestError` if it cannot be read.
    public init(_ path: String) throws {
        let bytes = try FileContent(path, atMost: .max).bytes
        self.path = path
        tensors = try SafetensorsFile(bytes, file: path).tensors
        digest = TreeDigest.digest(of: bytes)
        remark = nil
    }
}

extension SampleFile {
    /// Samples that were made of a text. They have the digest of a file with the same tensors.
    init(_ made: TextSamples.Made, of text: String) throws {
        let content = try SafetensorsWriter.parts(made.tensors).flatMap { part in part.withBytes { Array($0) } }
        (path, tensors, digest) = (text, made.tensors, TreeDigest.digest(of: ByteView(content)))
        remark = made.remark
    }
}
