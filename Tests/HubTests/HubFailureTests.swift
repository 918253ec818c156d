import AccelByteIO
import HubTestSupport
import Testing

@testable import AccelHub

@Suite("A server that breaks")
struct HubFailureTests {
    private static let subject = "hf:owner/model"
    private let weights = Scene.model["model.safetensors"]?.bytes.count ?? 0

    @Test("in the middle of a file is asked for the rest, and no byte is sent twice", arguments: Client.all)
    func breaks(client: Client) throws {
        try Scene.with(client) { scene in
            // More often than attempts may bring nothing.
            for count in [100_000, 0, 50_001] + [Int](repeating: 10_000, count: 6) {
                scene.content.fail("/content/", .breaks(after: count))
            }
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
            // The first request is that of the header, of 16 KiB.
            let starts = [16384, 16384, 66385] + (1...6).map { 66385 + 10_000 * $0 }
            let rest = starts.map { "bytes=\($0)-\(weights - 1)" }
            #expect(scene.content.requests.map(\.range) == ["bytes=0-16383"] + rest)
            #expect(scene.content.sentBytes == weights)
        }
    }

    @Test("again and again is given up, and the next download continues", arguments: Client.all)
    func gaveUp(client: Client) throws {
        try Scene.with(client) { scene in
            scene.content.fail("/content/", .breaks(after: 16 << 10))
            scene.content.fail("/content/", .breaks(after: 70_000))
            scene.content.fail("/content/", .breaks(after: 0), times: 5)
            let error = scene.error()
            #expect(error?.code == .interrupted)
            #expect(error?.location == "model.safetensors")
            let incomplete = "\(scene.blob(Scene.model["model.safetensors"])).incomplete"
            #expect(try scene.bytes(incomplete).count == 86_384)
            #expect(Files.kind(of: "\(scene.repositoryFolder)/refs/main") == nil)
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
            #expect(scene.content.requests.last?.range == "bytes=86384-\(weights - 1)")
            #expect(scene.content.sentBytes == weights)
        }
    }

    @Test("nothing, but the user ends the download: the next one continues", arguments: Client.all)
    func cancelled(client: Client) throws {
        try Scene.with(client) { scene in
            let cancellation = Cancellation()
            scene.content.fail("/content/", .slow(microseconds: 20_000), times: 2)
            #expect(throws: CancellationError.self) {
                try scene.fetch(cancellation: cancellation) { if $0.doneBytes > 50_000 { cancellation.cancel() } }
            }
            let incomplete = try scene.bytes("\(scene.blob(Scene.model["model.safetensors"])).incomplete")
            #expect((50_000..<weights).contains(incomplete.count))
            #expect(Scene.model["model.safetensors"]?.bytes.starts(with: incomplete) == true)
            scene.content.forget()
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
            #expect(scene.content.requests.map(\.range) == ["bytes=\(incomplete.count)-\(weights - 1)"])
        }
    }

    @Test("by sending nothing is left after a while, and asked again")
    func stalls() throws {
        guard Client.hasCurl else { return }
        try Scene.with(.curl) { scene in
            scene.slowSeconds = 1
            scene.content.fail("/content/", .stalls)
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
        }
    }

    @Test("by another size is found out before the content arrives", arguments: Client.all)
    func size(client: Client) throws {
        try Scene.with(client) { scene in
            scene.content.fail("/content/", .shortened(by: 1000))
            let error = HubError(
                .sizeMismatch, subject: Self.subject, location: "model.safetensors", expected: "\(weights) bytes",
                found: "\(weights - 1000)")
            #expect(scene.error() == error)
            #expect(scene.content.sentBytes < 100_000)
            scene.server.fail("tokenizer", .shortened(by: 1))
            let other = HubError(
                .sizeMismatch, subject: Self.subject, location: "tokenizer.json", expected: "17 bytes", found: "16")
            #expect(scene.error() == other)
        }
    }

    @Test("by answers without a length is asked again, up to a limit", arguments: Client.all)
    func truncated(client: Client) throws {
        try Scene.with(client) { scene in
            scene.server.fail("tokenizer", .raw("HTTP/1.1 200 OK\r\n\r\n{\"ver"), times: 5)
            let error = scene.error()
            #expect(error?.code == .truncated)
            #expect(error?.location == "tokenizer.json")
            scene.server.fail("tokenizer", .raw("HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 1000)))
            #expect(
                scene.error()
                    == HubError(
                        .sizeMismatch, subject: Self.subject, location: "tokenizer.json", expected: "17 bytes",
                        found: "more"))
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
        }
    }

    @Test("after the last byte has sent the whole file", arguments: Client.all)
    func breaksAtTheEnd(client: Client) throws {
        try Scene.with(client) { scene in
            let text = String(decoding: Scene.model["tokenizer.json"]?.bytes ?? [], as: UTF8.self)
            let head = "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 99\r\n\r\n"
            scene.server.fail("tokenizer", .raw(head + text))
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
            #expect(scene.server.requests(of: "tokenizer").count == 1)
        }
    }

    @Test("by another part than the requested one ends the download")
    func otherRange() throws {
        try Scene.with { scene in
            scene.content.fail("/content/", .slow(microseconds: 0))
            scene.content.fail("/content/", .raw("HTTP/1.1 206 OK\r\nContent-Range: bytes 0-300070/300071\r\n\r\n"))
            let error = HubError(
                .unexpectedAnswer, subject: Self.subject, location: "model.safetensors",
                expected: "the range from byte 16384", found: "bytes 0-300070/300071")
            #expect(scene.error() == error)
        }
    }

    @Test(
        "by damaged content is found out by the digest, and the content is dropped",
        arguments: ["tokenizer.json", "model.safetensors"])
    func damaged(name: String) throws {
        try Scene.with { scene in
            let (file, path) = (Scene.model[name], name == "tokenizer.json" ? name : "/content/")
            // Not the request of the header.
            if name != "tokenizer.json" { scene.content.fail(path, .slow(microseconds: 0)) }
            scene.server.fail(path, .damaged)
            scene.content.fail(path, .damaged, times: 2)
            let error = scene.error()
            #expect(error?.code == .digestMismatch)
            #expect(error?.location == name)
            let kind = name == "tokenizer.json" ? "git blob" : "sha256"
            #expect(error?.expected == "\(kind) \(file?.etag ?? "")")
            #expect(error?.found?.hasPrefix("\(kind) ") == true && error?.found != error?.expected)
            #expect(Files.kind(of: scene.blob(file)) == nil && Files.kind(of: "\(scene.blob(file)).incomplete") == nil)
            #expect(Files.kindWithoutFollowing("\(scene.snapshot())/\(name)") == nil)
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
        }
    }

    @Test(
        "earlier, and left other bytes, costs a new download",
        arguments: [(0, 1000), (0, 300_000), (0, 400_000), (20_000, 100_000), (20_000, 300_071)])
    func oldBytes(right: Int, count: Int) throws {
        try Scene.with { scene in
            try Files.makeFolder("\(scene.repositoryFolder)/blobs")
            let incomplete = "\(scene.blob(Scene.model["model.safetensors"])).incomplete"
            let bytes = (Scene.model["model.safetensors"]?.bytes ?? []).prefix(right)
            let old = bytes + [UInt8](repeating: 7, count: count - right)
            try AtomicFile.write(ByteView(Array(old)), to: incomplete, as: .internal)
            let reports = Locked<[HubProgress]>([])
            _ = try scene.fetch { progress in reports.withLock { $0.append(progress) } }
            try scene.expectSnapshot(.modelNames, of: Scene.model)
            // Before the header or the digest shows it, old bytes are continued.
            let continued = right > 0 ? weights - count : max(0, 16384 - count)
            #expect(scene.content.sentBytes == weights + continued)
            #expect(reports.withLock { $0.last?.doneBytes == $0.last?.totalBytes })
        }
    }

    @Test("by sending no ranges sends whole files", arguments: Client.all)
    func noRanges(client: Client) throws {
        try Scene.with(client) { scene in
            scene.content.fail("/content/", .noRanges, times: 100)
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
        }
    }

    @Test("by rejecting a range (416) is asked for the whole file", arguments: Client.all)
    func rangeRejected(client: Client) throws {
        try Scene.with(client) { scene in
            scene.content.fail("/content/", .slow(microseconds: 0))
            scene.content.fail("/content/", .status(416))
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
            #expect(scene.content.requests.map(\.range) == ["bytes=0-16383", "bytes=16384-\(weights - 1)", nil])
        }
        try Scene.with(client) { scene in
            scene.content.fail("/content/", .status(416), times: 2)
            #expect(scene.error() == HubError(.rangeRejected, subject: Self.subject, location: "model.safetensors"))
        }
    }

    @Test("under load (429) is asked again after the time that it names")
    func rateLimited() throws {
        try Scene.with { scene in
            scene.server.fail("/api/", .status(429, ["Retry-After": "1"]))
            scene.server.fail("config", .status(429, ["RateLimit": "\"resolvers\";r=0;t=0"]))
            let pauses = Locked<[Duration]>([])
            scene.policy.willPause = { error, pause in
                #expect(error.code == .rateLimited)
                pauses.withLock { $0.append(pause) }
            }
            let start = ContinuousClock.now
            _ = try scene.fetch()
            #expect(ContinuousClock.now - start >= .seconds(1))
            #expect(pauses.withLock { $0 } == [.seconds(1), .zero])
            try scene.expectSnapshot(.modelNames, of: Scene.model)
        }
    }

    @Test("under load (429) for too long is not waited for")
    func rateLimitedForLong() throws {
        try Scene.with { scene in
            scene.server.fail("/api/", .status(429, ["Retry-After": "3600"]))
            #expect(scene.error() == HubError(.rateLimited, subject: Self.subject, found: "a wait of 3600 s"))
            #expect(scene.server.requests.count == 1)
            scene.server.fail("/api/", .status(429), times: 5)
            #expect(scene.error() == HubError(.rateLimited, subject: Self.subject))
            #expect(scene.server.requests.count == 6)
        }
    }

    @Test("by itself (5xx) is asked again, up to a limit")
    func serverFailure() throws {
        try Scene.with { scene in
            scene.server.fail("/api/", .status(500), times: 2)
            scene.content.fail("/content/", .status(503))
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
        }
        try Scene.with { scene in
            scene.content.fail("/content/", .status(503, ["X-Error-Message": "at work"]), times: 5)
            let error = HubError(
                .serverFailure, subject: Self.subject, location: "model.safetensors", found: "at work")
            #expect(scene.error() == error)
            #expect(scene.content.requests.count == 5)
        }
    }

    @Test(
        "by denying access gives one error of its own",
        arguments: [
            ("/api/", 401, nil, HubError(.unauthorized, subject: subject, found: "status 401")),
            ("/api/", 401, "RepoNotFound", HubError(.repositoryNotFound, subject: subject)),
            ("/api/", 404, "RepoNotFound", HubError(.repositoryNotFound, subject: subject)),
            ("/api/", 404, "RevisionNotFound", HubError(.revisionNotFound, subject: subject)),
            ("/api/", 404, nil, HubError(.repositoryNotFound, subject: subject)),
            ("config", 403, nil, HubError(.forbidden, subject: subject, location: "config.json", found: "status 403")),
            ("tokenizer", 404, "EntryNotFound", HubError(.fileNotFound, subject: subject, location: "tokenizer.json")),
            ("tokenizer", 404, nil, HubError(.fileNotFound, subject: subject, location: "tokenizer.json")),
            (
                "config", 418, nil,
                HubError(
                    .unexpectedAnswer, subject: subject, location: "config.json", expected: "status 200 or 206",
                    found: "status 418")
            ),
        ] as [(String, Int, String?, HubError)])
    func denied(part: String, status: Int, code: String?, error: HubError) throws {
        try Scene.with { scene in
            scene.server.fail(part, .status(status, code.map { ["X-Error-Code": $0] } ?? [:]))
            #expect(scene.error() == error)
            #expect(scene.server.requests(of: part).count == 1)
            _ = try scene.fetch()
        }
    }

    @Test("by a gate names the page of the repository", arguments: [401, 403])
    func gated(status: Int) throws {
        try Scene.with { scene in
            scene.server.fail("config", .status(status, ["X-Error-Code": "GatedRepo"]))
            let error = HubError(
                .gated, subject: Self.subject, location: "\(scene.server.endpoint)/owner/model",
                found: "status \(status)")
            #expect(scene.error() == error)
        }
    }

    @Test("by a commit that vanishes during the download ends it")
    func vanished() throws {
        try Scene.with { scene in
            let server = scene.server
            let checks = HubChecks { _ in server.set(Scene.model, commit: Scene.second) }
            #expect(throws: HubError(.revisionNotFound, subject: Self.subject)) { try scene.fetch(checks: checks) }
            #expect(try scene.fetch().commit == Scene.second)
            try scene.expectSnapshot(.modelNames, of: Scene.model, Scene.second)
        }
    }

    @Test("not at all, but moves its revision during the download: the files are those of one commit")
    func moved() throws {
        try Scene.with { scene in
            let server = scene.server
            var files = Scene.model
            files["tokenizer.json"] = .init("another")
            let checks = HubChecks { [files] _ in server.set(files, commit: Scene.second, keepsOthers: true) }
            #expect(try scene.fetch(checks: checks).commit == Scene.first)
            try scene.expectSnapshot(.modelNames, of: Scene.model)
            #expect(try scene.fetch(access: .refreshed).commit == Scene.second)
            try scene.expectSnapshot(.modelNames, of: files, Scene.second)
        }
    }

    @Test("by absence is not waited for", arguments: Client.all)
    func absent(client: Client) throws {
        try Scene.with(client) { scene in
            scene.variables["HF_ENDPOINT"] = "http://127.0.0.1:1"
            scene.policy.pause = .seconds(60)
            let error = HubError(
                .noConnection, subject: Self.subject, location: "http://127.0.0.1:1",
                found: "there is no connection to the server")
            #expect(scene.error() == error)
        }
    }

    @Test("by being no Hub at all is found out", arguments: ["<html>", "{}", #"{"sha":"x","siblings":[]}"#, "[1,2"])
    func foreign(text: String) throws {
        try Scene.with { scene in
            scene.server.fail("/api/", .raw("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)"))
            #expect(scene.error()?.code == .unexpectedAnswer)
        }
    }

    @Test("by not speaking HTTP is found out", arguments: Client.all)
    func noHTTP(client: Client) throws {
        try Scene.with(client) { scene in
            scene.server.fail("/api/", .raw("SSH-2.0-OpenSSH_9.2\r\n\r\n"), times: 5)
            #expect([.interrupted, .unexpectedAnswer].contains(scene.error()?.code))
        }
    }

    @Test("by a size beyond the disk is found out before the weights arrive")
    func noSpace() throws {
        var files = Scene.model
        files["model.safetensors"]?.declaredBytes = 1 << 60
        try Scene.with(.sockets, files) { scene in
            let start = "\u{10}\0\0\0\0\0\0\0{" + String(repeating: " ", count: 16375)
            scene.content.fail(
                "/content/", .raw("HTTP/1.1 206 OK\r\nContent-Range: bytes 0-16383/*\r\n\r\n" + start))
            let error = scene.error()
            #expect(error?.code == .noSpace)
            #expect(error?.expected == "1152921.5 TB")
            #expect(scene.content.requests.count == 1)
        }
    }
}
