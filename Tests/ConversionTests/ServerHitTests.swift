import AccelByteIO
import AccelPackages
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelConversion

/// A cache server whose files lie in a folder.
struct FolderServer: RemoteTransport {
    let folder: String

    func run(_ requests: [RemoteRequest], authorization: String?) -> [RemoteOutcome]? {
        requests.map { request in
            let path = folder + request.url.replacing("http://server", with: "")
            switch request.method {
            case .get(let target, _):
                guard let content = FileManager.default.contents(atPath: path) else { return .status(404) }
                return FileManager.default.createFile(atPath: target, contents: content)
                    ? .status(200) : .failed("cannot write")
            case .head: return .status(FileManager.default.fileExists(atPath: path) ? 200 : 404)
            case .put(let source):
                guard let content = FileManager.default.contents(atPath: source),
                    (try? FileManager.default.createDirectory(
                        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)) != nil
                else { return .status(500) }
                return .status(FileManager.default.createFile(atPath: path, contents: content) ? 200 : 500)
            }
        }
    }
}

@Suite("A conversion with a cache server")
struct ServerHitTests {
    @Test("tells a package that the server has supplied from one of the local cache, and counts received weights")
    func outcomes() throws {
        try withTemporaryFolder { (folder: String) throws in
            func convert(_ cache: String, to output: String, _ scheme: String = "float16") throws -> ConvertedPackage {
                let server = try RemoteCache(
                    url: "http://server/x", transport: FolderServer(folder: "\(folder)/server"))
                let settings = ConversionSettings(cache: Cache(root: "\(folder)/\(cache)", remote: server), threads: 2)
                return try Samples.conversion(scheme).convert(to: .folder("\(folder)/\(output)"), settings)
            }
            let first = try convert("one", to: "a")
            let second = try convert("one", to: "b")
            let third = try convert("two", to: "c")
            let fourth = try convert("two", to: "d")
            #expect([first, second, third, fourth].map(\.cache) == [.miss, .hit, .serverHit, .hit])
            #expect(Set([first, second, third, fourth].map(\.package.digest)).count == 1)
            #expect(first.weights.received == 0 && first.weights.made > 0)
        }
    }

    @Test("sends no weights that it would not ask for: small ones are compressed faster than fetched")
    func shards() throws {
        try withTemporaryFolder { (folder: String) throws in
            let server = try RemoteCache(
                url: "http://server/x", transport: FolderServer(folder: "\(folder)/server"))
            let settings = ConversionSettings(cache: Cache(root: "\(folder)/one", remote: server), threads: 2)
            let conversion = try Samples.conversion("float16")
            #expect(try conversion.convert(try WeightShard(1, of: 1), settings).weights.made > 0)
            #expect(Files.kind(of: "\(folder)/server") == nil)
            _ = try conversion.convert(to: .folder("\(folder)/a"), settings)
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder)/server/x/ac").count == 1)
        }
    }

    @Test("shares a package of the local cache that the server lacks, and one that it has not again")
    func shared() throws {
        try withTemporaryFolder { (folder: String) throws in
            func cache(_ name: String) throws -> Cache {
                let server = try RemoteCache(
                    url: "http://server/x", transport: FolderServer(folder: "\(folder)/server"))
                return Cache(root: "\(folder)/\(name)", remote: server)
            }
            let conversion = try Samples.conversion("float16")
            let alone = ConversionSettings(cache: Cache(root: "\(folder)/one"), threads: 2)
            _ = try conversion.convert(to: .folder("\(folder)/a"), alone)
            #expect(Files.kind(of: "\(folder)/server") == nil)
            let shared = try cache("one")
            let key = try conversion.cacheKey(in: shared, threads: 2)
            shared.share(key)
            let record = "\(folder)/server/x/ac/\(key.digest)"
            #expect(Files.kind(of: record) == .file)
            let settings = ConversionSettings(cache: try cache("two"), threads: 2)
            #expect(try conversion.convert(to: .folder("\(folder)/b"), settings).cache == .serverHit)
            // A record that the server has is not sent: another content stays.
            try AtomicFile.write("other", to: record, as: .internal)
            shared.share(key)
            #expect(FileManager.default.contents(atPath: record) == Data("other".utf8))
        }
    }

    @Test("fetches again what is damaged in the local cache, and says so")
    func mended() throws {
        try withTemporaryFolder { (folder: String) throws in
            let warnings = Locked<[String]>([])
            func cache() throws -> Cache {
                let server = try RemoteCache(
                    url: "http://server/x", transport: FolderServer(folder: "\(folder)/server"))
                return Cache(
                    root: "\(folder)/cache", remote: server,
                    warn: { warning in warnings.withLock { $0.append(warning.text) } })
            }
            func convert(to output: String) throws -> ConvertedPackage {
                try Samples.conversion("float16").convert(
                    to: .folder("\(folder)/\(output)"), ConversionSettings(cache: try cache(), threads: 2))
            }
            func flip(_ kind: String) throws {
                let path = "\(folder)/cache/v1/\(kind)"
                for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
                    let file = "\(path)/\(name)"
                    guard Files.kind(of: file) == .file, var content = FileManager.default.contents(atPath: file) else {
                        continue
                    }
                    content[content.count / 2] ^= 1
                    try FileManager.default.removeItem(atPath: file)
                    try #require(FileManager.default.createFile(atPath: file, contents: content))
                }
            }
            let first = try convert(to: "a")
            for (index, kind) in ["cas", "ac"].enumerated() {
                try flip(kind)
                let again = try convert(to: "b\(index)")
                #expect(again.cache == .serverHit, "\(kind)")
                #expect(again.package.digest == first.package.digest)
                #expect(warnings.withLock { $0.count } == index + 1)
                #expect(
                    warnings.withLock { $0.last?.contains("was damaged, and is fetched again from the cache server: ") }
                        == true)
                #expect(try convert(to: "c\(index)").cache == .hit)
            }
        }
    }
}
