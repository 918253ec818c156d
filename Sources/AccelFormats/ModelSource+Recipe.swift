public import AccelByteIO
import AccelPackages

extension ModelSource {
    /// The recipe that accelc made a package or an export by; nil for files that do not say one.
    public var recipe: JSON? {
        if let package = (self as? PackagedModel)?.package { return package.manifest.provenance.recipe }
        guard let exporter = format.exporter, Files.kind(of: path) == .folder else { return nil }
        let provenance = try? exporter.provenance { name in
            let file = "\(path)/\(name)"
            return Files.kind(of: file) == .file ? try MappedFile(file).bytes : nil
        }
        return provenance?["accelc.recipe"].flatMap { try? JSON.parse(ByteView(Array($0.utf8)), file: path) }
    }
}
