import AccelByteIO
import AccelPackages
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport

/// A tensor whose every byte follows from a number.
struct SeededResult {
    let source: StoredTensor
    let key: CacheKey
    private let codec: any WeightCodec

    init(_ seed: Int, count: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let start = Float.random(in: 0...1, using: &generator)
        let some = (0..<1000).map { start + Float($0) * 0.25 }
        let floats = Array(repeatElement(some, count: (count + 999) / 1000).joined().prefix(count))
        source = StoredTensor(name: "seed \(seed)", floats: floats, shape: [1, count])
        codec = try Codecs.codec("float32")
        key = CacheKey(
            tensor: TreeDigest.digest(of: source.bytes), elementType: source.elementType, shape: source.shape,
            codec: codec)
    }

    func store(in cache: Cache) throws -> Bool {
        let made = try CompressedTensor.compressing(source, with: codec, threads: 1)
        guard let kept = cache.store(made.tensor, made.distortion, for: key, model: source.name) else { return false }
        // What the cache gives back takes the place of what was made.
        guard kept.sections == made.tensor.sections else { throw RequestError("the cache changed what was stored") }
        return true
    }

    /// nil: it is not there. Otherwise whether it is right.
    func found(in cache: Cache) throws -> Bool? {
        switch cache.tensor(for: key, source: source, codec: codec) {
        case .success(let found): return found.tensor.sections == [source.bytes]
        case .failure: return nil
        }
    }

    private func paths(_ root: String) throws -> (record: String, blob: String, size: Int)? {
        let name = key.digest.description
        let path = "\(root)/v1/ac/\(name.prefix(2))/\(name)"
        guard Files.kind(of: path) == .file, let bytes = try? MappedFile(path).bytes,
            let record = try? CacheRecord(bytes, file: path), let file = record.files.first
        else { return nil }
        let blob = file.digest.description
        return (path, "\(root)/v1/cas/\(blob.prefix(2))/\(blob)", file.byteCount)
    }

    /// The same without looking at digests.
    func foundBlindly(in root: String) throws -> Bool? {
        guard let paths = try paths(root), let content = try? MappedFile(paths.blob).bytes else { return nil }
        guard content.count >= source.bytes.count else { return false }
        return content[0..<source.bytes.count] == source.bytes
    }

    /// Writes the record first, and everything in place.
    func storeNaively(in root: String) throws {
        let sound = root + ".sound"
        guard try store(in: Cache(root: sound)), let from = try paths(sound) else { return }
        for path in [from.record, from.blob] {
            let target = root + path.dropFirst(sound.count)
            try Files.makeFolder(Files.parentFolder(of: target) ?? root)
            _ = FileManager.default.createFile(atPath: target, contents: nil)
            guard let handle = FileHandle(forWritingAtPath: target) else { continue }
            let data = try Data(contentsOf: URL(filePath: path))
            for start in stride(from: 0, to: data.count, by: 1 << 16) {
                try handle.write(contentsOf: data[start..<min(data.count, start + 1 << 16)])
            }
            try handle.close()
        }
    }
}
