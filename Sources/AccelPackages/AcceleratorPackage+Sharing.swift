public import AccelByteIO
import AccelTensors

extension AcceleratorPackage {
    /// Returns whether a file of an open package has another hard link that may be written.
    public func isShared(in opened: OpenedPath) -> Bool {
        let names = [PackageFormat.manifestName] + manifest.files.map(\.name)
        let location = opened.lastingPath
        let paths = opened.kind == .folder ? names.map { "\(location)/\($0)" } : [location]
        return paths.contains { Files.writableNames(of: $0) > 1 }
    }

    /// A warning about files of the package with several hard links. Files that a cache shares with a package are
    /// read-only and cause no warning.
    public var remarks: [String] {
        let names = [PackageFormat.manifestName] + manifest.files.map(\.name)
        let paths = Files.kind(of: path) == .folder ? names.map(files.describe) : [path]
        return sharedFilesRemark(paths)
    }
}
