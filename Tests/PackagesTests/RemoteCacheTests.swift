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
                warn: { sentence in warnings.withLock { $0.append(sentence) } }
            )
            let cache = Cache(root: "\(folder)/cache", remote: remote)
            for _ in 0..<3 {
                #expect(cache.obtained(SHA256.digest(of: "key")).failure == CacheMiss(.noRecord))
            }
            #expect(warnings.withLock { $0.count } == 1)
            #expect(warnings.withLock { !$0[0].contains("secret") })
            #expect(try Files.list("\(folder)/cache/v1/tmp").isEmpty)
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
            // Cut off, it is refused, or says less; it never becomes the record of this key with other contents.
            guard let other = try? CacheRecord(message: ByteView(Array(message[..<count])), file: "x") else { continue }
            #expect(other.key != record.key || other.files == record.files)
        }
    }
}
