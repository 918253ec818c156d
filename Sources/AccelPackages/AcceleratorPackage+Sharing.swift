public import AccelByteIO
import AccelTensors

extension AcceleratorPackage {
    /// Whether a file of the package, which is held open, can be written to by another name too, wherever that lies.
    public func isShared(in opened: OpenedPath) -> Bool {
        let names = [PackageFormat.manifestName] + manifest.files.map(\.name)
        let place = opened.lastingPath
        let paths = opened.kind == .folder ? names.map { "\(place)/\($0)" } : [place]
        return paths.contains { Files.writableNames(of: $0) > 1 }
    }

    /// Sentences about files of the package that can be written to by another name. Those that a cache shares with a package are
    /// read-only.
    public var remarks: [String] {
        let names = [PackageFormat.manifestName] + manifest.files.map(\.name)
        let paths = Files.kind(of: path) == .folder ? names.map(files.describe) : [path]
        return paths.filter { Files.writableNames(of: $0) > 1 }.map(sharedFileRemark)
    }
}
