import AccelByteIO
import AccelConversion
import AccelFormats
import AccelTensors

/// Refuses names of outputs that accelc, and other tools, would take for something else.
enum OutputNames {
    /// Core ML models that are not written: protocol buffers of an older kind, and what Xcode makes of a package.
    static let otherCoreML = [".mlmodel", ".mlmodelc"]

    /// The suffixes that tell what a path holds, the longest first.
    private static let telling = Set(
        ModelFormats.all.flatMap { $0.suffixes } + otherCoreML + ForeignFormat.suffixes
            + [".safetensors", ".json", ".html", ".npy", ".npz", ".tar", ".tar.gz", ".tgz"]
    ).sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }

    /// Checks the name of an output.
    /// - Throws: `RequestError` for a name with the suffix of something else, with the name that fits.
    static func require(_ output: NamedPath, of kind: OutputKind) throws(RequestError) {
        let name = Files.trimmingSlashes(output.path)
        guard !kind.suffixes.contains(where: name.hasSuffix), let suffix = telling.first(where: name.hasSuffix) else {
            return
        }
        let stem = String(name.dropLast(suffix.count))
        var remedy = "use \(output.name) \(stem)\(kind.suffixes.first ?? "")"
        if let (title, command, name) = writer(of: suffix, stem), !kind.suffixes.contains(where: name.hasSuffix) {
            remedy += "; accelc \(command) MODEL -o \(name) writes \(title)"
        }
        throw RequestError("\(output.path): \(output.name) writes \(kind.name), and no \(suffix): \(remedy)")
    }

    /// Returns the command that writes models with names of a suffix.
    private static func writer(of suffix: String, _ stem: String) -> (title: String, command: String, name: String)? {
        if otherCoreML.contains(suffix) { return (CoreMLFormat.title, "export", stem + CoreMLFormat.suffixes[0]) }
        guard let format = ModelFormats.named(by: stem + suffix) else { return nil }
        if suffix == AcceleratorPackageFormat.suffixes[0] { return (format.title, "convert", stem + suffix) }
        return format.exporter == nil ? nil : (format.title, "export", stem + suffix)
    }
}
