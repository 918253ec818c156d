import AccelByteIO
import AccelHostTools
import Foundation
import TestSupport
import Testing

@testable import AccelPackages

/// What a server sends is tried by scripts/reliability/cache_remote.py.
@Suite("A cache server")
struct RemoteCacheTests {
    @Test("has an address; what that says of the user is not shown")
    func addresses() throws {
        #expect(
            try RemoteCache(url: "https://me:secret@example.org:8080/a/b/", transport: CurlTransport()).name
                == "https://example.org:8080/a/b")
        #expect(try RemoteCache(url: "http://example.org", transport: CurlTransport()).name == "http://example.org")
        for bad in [
            "", "example.org", "ftp://example.org", "http://", "http:///x", "http://a b", "http://a\"b", "http://a\\b",
            "http://a\nb", "http://example.org/?x=1", "http://example.org/#x", "file:///etc/passwd", "http://a:b",
            "http://a:70000", "http://[::1", "http://[]/x",
            "http://me@",
        ] {
            #expect(throws: RequestError.self, "\(bad)") { try RemoteCache(url: bad, transport: CurlTransport()) }
        }
        #expect(throws: RequestError.self) {
            try RemoteCache(url: "http://a", transport: CurlTransport(), authorization: "x\nHost: b")
        }
    }

    @Test("that is not there is given up after one try, with one warning")
    func absent() throws {
        try withTemporaryFolder { folder in
            let warnings = Locked<[String]>([])
            let remote = try RemoteCache(
                url: "http://user:secret@127.0.0.1:1/x", transport: CurlTransport(),
                warn: { warning in warnings.withLock { $0.append(warning.text) } }
            )
            let cache = Cache(root: "\(folder)/cache", remote: remote)
            for _ in 0..<3 {
                #expect(
                    cache.obtained(SHA256.digest(of: "key")).failure
                        == CacheMiss(
                            .notSupplied(
                                "the cache server http://127.0.0.1:1/x is not used: there is no connection to it")))
            }
            #expect(warnings.withLock { $0.count } == 1)
            #expect(warnings.withLock { !$0[0].contains("secret") })
            #expect(try Files.list("\(folder)/cache/v1/tmp").isEmpty)
        }
    }

    /// A server in memory.
    private final class Server: RemoteTransport {
        let contents = Locked<[String: [UInt8]]>([:])
        let isClosed = Locked(false)
        /// The status of every PUT; nil for a server that takes results.
        let rejection = Locked<Int?>(nil)

        func run(_ requests: [RemoteRequest], authorization: String?) -> [RemoteOutcome]? {
            requests.map { request in
                if isClosed.withLock({ $0 }) { return .status(401) }
                switch request.method {
                case .get(let path, _):
                    guard let bytes = contents.withLock({ $0[request.url] }) else { return .status(404) }
                    return FileManager.default.createFile(atPath: path, contents: Data(bytes))
                        ? .status(200) : .incomplete
                case .head: return .status(contents.withLock { $0[request.url] } == nil ? 404 : 200)
                case .put(let path):
                    if let status = rejection.withLock({ $0 }) { return .status(status) }
                    guard let bytes = FileManager.default.contents(atPath: path) else { return .incomplete }
                    contents.withLock { $0[request.url] = Array(bytes) }
                    return .status(201)
                }
            }
        }

        /// Changes a byte of each blob.
        func damage() {
            contents.withLock { contents in
                for name in contents.keys where name.contains("/cas/") { contents[name]?[0] ^= 1 }
            }
        }
    }

    @Test("that has damaged contents is said to, and gets them again with the record")
    func damaged() throws {
        try withTemporaryFolder { folder in
            let (server, key) = (Server(), CacheKey(kind: .statistics, fields: [.init("content", "c")]))
            let warnings = Locked<[String]>([])
            func cache(_ name: String, isReadOnly: Bool = false) throws -> Cache {
                let remote = try RemoteCache(
                    url: "http://a/x", transport: server, isReadOnly: isReadOnly,
                    warn: { warning in warnings.withLock { $0.append(warning.text) } })
                return Cache(root: "\(folder)/\(name)", remote: remote)
            }
            /// Stores what a conversion makes after a miss.
            func make(in cache: Cache) throws {
                let stored: Void? = cache.writing { folder in
                    var file = try folder.putBlob([ByteView([UInt8](repeating: 7, count: 100))])
                    file.path = "statistics"
                    let record = CacheRecord(key: key, files: [file], model: "m")
                    try folder.putRecord(record)
                    cache.remote?.add(record)
                    cache.remote?.send(from: folder)
                }
                try #require(stored != nil)
            }
            try make(in: try cache("first"))
            let whole = server.contents.withLock { $0 }
            #expect(whole.count == 2)
            server.damage()
            for (name, isReadOnly) in [("reader", true), ("second", false)] {
                let second = try cache(name, isReadOnly: isReadOnly)
                second.remote?.fetch([key.digest], into: second)
                #expect(!second.isFromServer(key))
                #expect(
                    second.remote?.trouble(with: key.digest) == "what the cache server http://a/x has of it is damaged")
                try make(in: second)
                #expect((server.contents.withLock { $0 } == whole) == !isReadOnly)
            }
            #expect(warnings.withLock { $0.count } == 2)
            #expect(
                warnings.withLock { $0.last }?.contains(
                    "are damaged, and a conversion makes them again and sends them: ") == true)
            let third = try cache("third")
            third.remote?.fetch([key.digest], into: third)
            #expect(third.isFromServer(key))
            // One that rejects access is told from one that has nothing.
            server.isClosed.withLock { $0 = true }
            let fourth = try cache("fourth").obtained(key.digest)
            #expect(
                fourth.failure?.reason.description
                    == "there is no record of it, and the cache server http://a/x is not used: it rejects access (status 401) "
                    + "to requests without an authorization")
        }
    }

    @Test("that answers with anything else than records is told so once, and a conversion goes on")
    func foreign() throws {
        try withTemporaryFolder { folder in
            let server = Server()
            let keys = ["a", "b"].map { SHA256.digest(of: $0) }
            server.contents.withLock { contents in
                for key in keys { contents["http://a/x/ac/\(key)"] = Array("<html>sign in</html>".utf8) }
            }
            let warnings = Locked<[String]>([])
            let remote = try RemoteCache(
                url: "http://a/x", transport: server, warn: { warning in warnings.withLock { $0.append(warning.text) } }
            )
            let cache = Cache(root: "\(folder)/cache", remote: remote)
            for _ in 0..<2 { remote.fetch(keys, into: cache) }
            #expect(warnings.withLock { $0.count } == 1)
            #expect(warnings.withLock { $0[0] }.contains("answers with what is no record of accelc"))
            #expect(remote.trouble(with: keys[0])?.contains("damaged") == true)
        }
    }

    @Test("that takes no results is told so once, and is still asked", arguments: [405, 501, 413])
    func takesNone(status: Int) throws {
        try withTemporaryFolder { folder in
            let server = Server()
            server.rejection.withLock { $0 = status }
            let warnings = Locked<[String]>([])
            let remote = try RemoteCache(
                url: "http://a/x", transport: server, warn: { warning in warnings.withLock { $0.append(warning.text) } }
            )
            let cache = Cache(root: "\(folder)/cache", remote: remote)
            for content in ["a", "b"] {
                let key = CacheKey(kind: .statistics, fields: [.init("content", content)])
                let stored: Void? = cache.writing { folder in
                    var file = try folder.putBlob([ByteView([UInt8](repeating: 7, count: 100))])
                    file.path = "statistics"
                    let record = CacheRecord(key: key, files: [file], model: "m")
                    try folder.putRecord(record)
                    remote.add(record)
                    remote.send(from: folder)
                }
                try #require(stored != nil)
                remote.fetch([SHA256.digest(of: "other")], into: cache)
                #expect(remote.trouble(with: SHA256.digest(of: "other")) == nil)
            }
            let word = status == 413 ? "does not take all results" : "takes no results"
            #expect(warnings.withLock { $0.count } == 1)
            #expect(
                warnings.withLock { $0[0] }.hasPrefix("the cache server http://a/x \(word): it answers PUT with status")
            )
        }
    }

    @Test("gets a record without the trailer that it has on the disk, and no reader takes another's")
    func messages() throws {
        let record = CacheRecord(
            key: CacheKey(kind: .tensor, fields: [.init("content", "c")]),
            files: [.init(path: "sections", digest: SHA256.digest(of: "a"), byteCount: 1)], model: "m")
        let message = record.message.array
        #expect(record.encoded.array.count == message.count + 16)
        #expect(try CacheRecord(message: ByteView(message), file: "x") == record)
        for count in 0..<message.count {
            // Cut off, it is rejected, or says less; it never becomes the record of this key with other contents.
            guard let other = try? CacheRecord(message: ByteView(Array(message[..<count])), file: "x") else { continue }
            #expect(other.key != record.key || other.files == record.files)
        }
    }
}
