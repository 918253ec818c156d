import AccelByteIO
import AccelConversion
import AccelFormats
import AccelTensors

/// Rejects names of outputs that accelc, and other tools, would take for something else.
enum OutputNames {
    /// Core ML models that are not written: protocol buffers of an older kind, and what Xcode makes of a package.
    static let otherCoreML = [".mlmodel", ".mlmodelc"]

    /// The suffixes of other kinds of files and folders.
    private static let suffixes =
        ModelFormats.all.flatMap { $0.suffixes } + otherCoreML + ForeignFormat.suffixes
        + [".safetensors", ".json", ".html", ".npy", ".npz", ".tar", ".tar.gz", ".tgz"]

    /// Checks the name of an output.
    /// - Throws: `RequestError` for a name with the suffix of something else.
    static func require(_ output: NamedPath, of kind: OutputKind) throws(RequestError) {
        let name = Files.trimmingSlashes(output.path)
        guard !kind.suffixes.contains(where: name.hasSuffix), suffixes.contains(where: name.hasSuffix) else { return }
        throw RequestError(
            "\(output.path): \(output.name) writes \(kind.name), expected \(kind.suffixes.first ?? "another name")")
    }
}
