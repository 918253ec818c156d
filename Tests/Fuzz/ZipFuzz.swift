import AccelByteIO
import TestSupport

extension FuzzTarget {
    static let zip = FuzzTarget(name: "zip", seeds: Attack.zip.map(\.bytes)) { bytes in
        let archive = try ZipArchive(bytes, file: "fuzz", limits: ZipArchive.Limits(unpackedBytes: 1 << 18))
        for entry in archive.entries {
            precondition(!entry.name.split(separator: "/").contains("..") && !entry.name.hasPrefix("/"))
            _ = archive.storedBytes(of: entry.name)
            if let content = try? archive.content(of: entry.name) { precondition(content.count == entry.size) }
        }
    }
}
