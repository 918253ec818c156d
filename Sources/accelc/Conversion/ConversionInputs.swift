import ByteIO
import Packages
import Programs
import Tensors

extension Checkpoint {
    /// The files that a conversion reads, with their digests.
    func sources(threads: Int) throws -> [Provenance.Source] {
        let weights = files.map { (name: Files.name(of: $0.path), path: $0.path) }
        return try (weights + assets.map { (name: $0.name, path: $0.path) }).map { name, path in
            let bytes = try MappedFile(path).bytes
            return Provenance.Source(
                name: name, byteCount: bytes.count, digest: try TreeDigest.digest(of: bytes, threads: threads))
        }
    }

    /// The assets, mapped.
    var assetContents: [Packages.Asset] {
        get throws { try assets.map { Packages.Asset(name: $0.name, content: try MappedFile($0.path).bytes) } }
    }
}

extension [FrozenProgram] {
    /// How many weights there are to compress.
    var weightCount: Int {
        Set(flatMap { $0.program.constants.filter(\.isWeight).map(\.tensor.name) }).count
    }
}

extension ContinuousClock {
    func seconds(since start: Instant) -> Double { (now - start) / .seconds(1) }
}
