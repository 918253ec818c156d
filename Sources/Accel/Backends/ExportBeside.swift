import AccelByteIO
import AccelPackages

/// The export of a package in another format, beside the package: a folder `NAME-FORMAT` for `NAME.accelpkg`. (`NAME.gguf` would be a file.)
enum ExportBeside {
    /// The path of a package without its extension, and with a suffix.
    static func path(of package: String, suffix: String) -> String {
        let name = Files.name(of: package)
        let stem = name.hasSuffix(".accelpkg") ? String(name.dropLast(".accelpkg".count)) : name
        return "\(Files.parentFolder(of: package) ?? ".")/\(stem)\(suffix)"
    }

    /// Finds the export of this very package, a folder with a list of its files.
    /// - Parameter checksFiles: whether every file is read and compared with its digest.
    /// - Throws: `AccelError` (unsupported) with the path and the format.
    static func folder(of package: AcceleratorPackage, format: String, checksFiles: Bool) throws(AccelError) -> String {
        let path = path(of: package.path, suffix: "-\(format)")
        func missing(_ problem: String) -> AccelError {
            AccelError(.unsupported, problem, at: path, expected: expected(format))
        }
        let list = "\(path)/export.json"
        guard Files.kind(of: list) == .file else {
            throw missing("there is no export of the package in the format \(format)")
        }
        do {
            let provenance = JSONField(try JSON.read(list), file: list)["provenance"]["accelc.package"]
            guard provenance.exists else { throw missing("does not name the package that it was made of") }
            let digest = try provenance.string()
            guard digest == package.digest.description else {
                throw missing("was made of the package \(digest.prefix(64)), and not of \(package.digest)")
            }
            if checksFiles, let change = try WrittenDocument.change(of: "export.json", in: path) {
                throw missing(change)
            }
        } catch {
            throw AccelError(error, at: path)
        }
        return path
    }

    /// Returns the description of the export that is expected at the path.
    static func expected(_ format: String) -> String { "an export of the package in the format \(format)" }
}
