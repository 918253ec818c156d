import ByteIO
import Tensors

extension AcceleratorPackage {
    /// Sentences about files of the package that can be written to by another name. Those that a cache shares with a package are
    /// read-only.
    public var remarks: [String] {
        let names = [PackageFormat.manifestName] + manifest.files.map(\.name)
        let paths = Files.kind(of: path) == .folder ? names.map(files.describe) : [path]
        return paths.filter { Files.writableNames(of: $0) > 1 }.map(sharedFileRemark)
    }
}
