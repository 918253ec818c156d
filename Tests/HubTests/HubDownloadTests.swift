import AccelByteIO
import HubTestSupport
import Testing

@testable import AccelHub

@Suite("A download")
struct HubDownloadTests {
    @Test("gets the configuration, the headers, the tokenizer and the weights, and nothing else", arguments: Client.all)
    func order(client: Client) throws {
        let files = Scene.model
        try Scene.with(client, files) { scene in
            let steps = Locked<[String]>([])
            let server = scene.server
            let checks = HubChecks { folder in
                steps.withLock { $0.append("configuration") }
                #expect(Files.kind(of: "\(folder)/config.json") == .file)
                #expect(server.requests(of: ".safetensors").isEmpty)
            } headers: { folder, headers in
                steps.withLock { $0.append("headers") }
                #expect(headers.map(\.path) == ["model.safetensors"])
                let bytes = files["model.safetensors"]?.bytes ?? []
                #expect(headers[0].byteCount == bytes.count)
                #expect(headers[0].bytes == ByteView(Array(bytes.prefix(8 + Int(bytes[0])))))
                #expect(server.requests(of: "tokenizer").isEmpty)
            }
            let snapshot = try scene.fetch(checks: checks)
            #expect(snapshot == HubSnapshot(folder: scene.snapshot(), commit: Scene.first, file: nil))
            #expect(steps.withLock { $0 } == ["configuration", "headers"])
            try scene.expectSnapshot(.modelNames, of: files)
            #expect(try scene.bytes("\(scene.repositoryFolder)/refs/main") == Array(Scene.first.utf8))
            #expect(scene.sentWeightBytes == files["model.safetensors"]?.bytes.count)
            let paths = scene.server.requests.map(\.path)
            #expect(paths.first == "/api/models/owner/model/revision/main?blobs=true")
            #expect(paths.dropFirst().allSatisfy { $0.hasPrefix("/owner/model/resolve/\(Scene.first)/") })
        }
    }

    @Test("of an unsupported model ends before 100 kB, with the check's error", arguments: [true, false])
    func rejection(byConfiguration: Bool) throws {
        struct Unsupported: Error {}
        // Three shards with headers of 20 kB, of which one request gets 16 KiB.
        var files = Scene.model
        files["model.safetensors"] = nil
        var index: [JSON.Member] = []
        for number in 1...3 {
            let name = "model-0000\(number)-of-00003.safetensors"
            files[name] = .init(Scene.safetensors(200_000, seed: number, padding: 20_000), isLarge: true)
            index.append(.init("tensor\(number)", .string(name)))
        }
        files["model.safetensors.index.json"] = .init(JSON.object([.init("weight_map", .object(index))]).text())
        try Scene.with(.sockets, files) { scene in
            let checks = HubChecks { _ in
                if byConfiguration { throw Unsupported() }
            } headers: { _, headers in
                #expect(headers.count == 3)
                for header in headers {
                    #expect(
                        header.bytes == ByteView(Array((files[header.path]?.bytes ?? []).prefix(header.bytes.count))))
                    #expect(header.bytes.count > 20_000)
                }
                throw Unsupported()
            }
            #expect(throws: Unsupported.self) { try scene.fetch(checks: checks) }
            #expect(scene.server.sentBytes + scene.content.sentBytes < (byConfiguration ? 2_000 : 100_000))
            #expect(scene.content.requests.isEmpty == byConfiguration)
            // The headers are not sent again.
            _ = try scene.fetch()
            let names = Set(index.map { if case .string(let name) = $0.value { name } else { "" } })
            try scene.expectSnapshot(
                names.union(["config.json", "tokenizer.json", "model.safetensors.index.json"]), of: files)
            #expect(scene.content.sentBytes == names.reduce(0) { $0 + (files[$1]?.bytes.count ?? 0) })
        }
    }

    @Test("is made once: later there is no request", arguments: [HubAccess.ifNeeded, .offline])
    func again(access: HubAccess) throws {
        try Scene.with { scene in
            let first = try scene.fetch()
            scene.server.forget()
            scene.content.forget()
            let checks = HubChecks { _ in
                Issue.record("there is nothing to download")
            } headers: { _, _ in
                Issue.record("there is nothing to download")
            }
            for reference in ["hf:owner/model", "hf:owner/model@\(Scene.first)"] {
                #expect(try scene.fetch(reference, access: access, checks: checks) == first)
            }
            #expect(scene.server.requests.isEmpty && scene.content.requests.isEmpty)
        }
    }

    @Test("of a commit that the cache has in part gets the rest, without a listing")
    func rest() throws {
        try Scene.with { scene in
            _ = try scene.fetch()
            try Files.removeTree("\(scene.snapshot())/tokenizer.json")
            try Files.removeTree(scene.blob(Scene.model["tokenizer.json"]))
            scene.server.forget()
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
            #expect(scene.server.requests.map(\.path) == ["/owner/model/resolve/\(Scene.first)/tokenizer.json"])
        }
    }

    @Test("that is refreshed follows the revision, and keeps what has not changed")
    func refreshed() throws {
        try Scene.with { scene in
            _ = try scene.fetch()
            var files = Scene.model
            files["tokenizer.json"] = .init(#"{"version":"2.0"}"#)
            scene.server.set(files, commit: Scene.second)
            scene.content.forget()
            #expect(try scene.fetch().commit == Scene.first)
            #expect(try scene.fetch(access: .refreshed).commit == Scene.second)
            #expect(scene.content.requests.isEmpty)
            try scene.expectSnapshot(.modelNames, of: files, Scene.second)
            #expect(try scene.fetch(access: .offline).commit == Scene.second)
            #expect(try scene.fetch("hf:owner/model@\(Scene.first)", access: .offline).commit == Scene.first)
        }
    }

    @Test("without requests names the first file that is missing")
    func offline() throws {
        try Scene.with { scene in
            #expect(
                scene.error(access: .offline)
                    == HubError(.offline, subject: "hf:owner/model", location: "\(scene.folder)/hub"))
            _ = try scene.fetch()
            try Files.removeTree("\(scene.snapshot())/tokenizer.json")
            scene.variables["HF_HUB_OFFLINE"] = "1"
            scene.server.forget()
            let error = HubError(.offline, subject: "hf:owner/model", location: "tokenizer.json")
            #expect(scene.error() == error)
            #expect(scene.server.requests.isEmpty)
            // Without a record, the present files count, if they hold all weights.
            try Files.removeTree("\(scene.repositoryFolder)/.accelc")
            #expect(try scene.fetch().folder == scene.snapshot())
            try Files.removeTree("\(scene.snapshot())/model.safetensors")
            #expect(scene.error()?.code == .noWeights)
        }
    }

    @Test("uses the record that Hugging Face's library has made of a commit")
    func foreignRecord() throws {
        try Scene.with { scene in
            _ = try scene.fetch()
            let own = "\(scene.repositoryFolder)/.accelc/\(Scene.first).json"
            let record = try scene.bytes(own)
            try Files.removeTree("\(scene.repositoryFolder)/.accelc")
            scene.server.forget()
            _ = try scene.fetch()
            #expect(scene.server.requests.count == 1)
            try Files.removeTree("\(scene.repositoryFolder)/.accelc")
            try Files.makeFolder("\(scene.repositoryFolder)/trees")
            try AtomicFile.write(
                ByteView(record), to: "\(scene.repositoryFolder)/trees/\(Scene.first).json", as: .internal)
            scene.server.forget()
            _ = try scene.fetch()
            #expect(scene.server.requests.isEmpty)
        }
    }

    @Test("asks for each file where the server lists only names", arguments: Client.all)
    func metadata(client: Client) throws {
        try Scene.with(client, listsDigests: false) { scene in
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
            let heads = scene.server.requests.filter { $0.method == "HEAD" }
            #expect(Set(heads.map { Files.name(of: $0.path) }) == .modelNames)
            scene.server.forget()
            _ = try scene.fetch()
            #expect(scene.server.requests.isEmpty)
        }
    }

    @Test("reports its progress from nothing to all bytes")
    func progress() throws {
        try Scene.with { scene in
            let reports = Locked<[HubProgress]>([])
            scene.content.fail("/content/", .slow(microseconds: 10_000), times: 2)
            _ = try scene.fetch { progress in reports.withLock { $0.append(progress) } }
            // The configuration comes before.
            let files = Scene.model
            let total = ["tokenizer.json", "model.safetensors"].reduce(0) { $0 + (files[$1]?.bytes.count ?? 0) }
            let all = reports.withLock { $0 }
            #expect(all.allSatisfy { $0.totalBytes == total })
            // The header is there already.
            #expect(all.first?.doneBytes == 16 << 10)
            #expect(all.last?.doneBytes == total)
            #expect(all.last?.remainingSeconds == 0)
            #expect(zip(all, all.dropFirst()).allSatisfy { $0.doneBytes <= $1.doneBytes })
            #expect(all.count > 2)
        }
    }

    @Test("of hostile names of weights takes none of them")
    func hostileWeights() throws {
        let names = ["../../../x.gguf", "/tmp/x-Q8_0.gguf", "a/../../../y.gguf", ".z.gguf"]
        let files = Dictionary(uniqueKeysWithValues: names.map { ($0, LocalHub.File([1], isLarge: true)) })
        try Scene.with(.sockets, files) { scene in
            #expect(scene.error() == HubError(.noWeights, subject: "hf:owner/model"))
            #expect(scene.error("hf:owner/model:Q8_0")?.code == .fileNotFound)
            #expect(Files.kind(of: "\(scene.folder)/x.gguf") == nil && Files.kind(of: scene.snapshot()) == nil)
        }
    }

    @Test("of hostile names takes none of them")
    func hostileNames() throws {
        var files = Scene.model
        for name in ["../config.json", "/config.json", "1_x/../../../../config.json", "..", ".config.json"] {
            files[name] = .init("{}")
        }
        try Scene.with(.sockets, files) { scene in
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: files)
        }
    }

    @Test("of a GGUF file gets 64 KiB for the check, and then the rest of all parts", arguments: Client.all)
    func gguf(client: Client) throws {
        var files: [String: LocalHub.File] = ["README.md": .init("x"), "m-Q8_0.gguf": .init([1], isLarge: true)]
        let names = (1...2).map { "Q4_K_M/m-Q4_K_M-0000\($0)-of-00002.gguf" }
        for (index, name) in names.enumerated() {
            let bytes = (0..<100_000 + index).map { UInt8(truncatingIfNeeded: $0 &* 7 + index) }
            files[name] = .init(bytes, isLarge: true)
        }
        try Scene.with(client, files) { [files] scene in
            let checks = HubChecks { _ in
                Issue.record("there is no configuration")
            } headers: { _, headers in
                #expect(headers.map(\.path) == names)
                #expect(headers.map(\.byteCount) == [100_000, 100_001])
                for header in headers {
                    #expect(header.bytes == ByteView(Array(files[header.path]?.bytes[..<65536] ?? [])))
                }
            }
            let snapshot = try scene.fetch("hf:owner/model:q4_k_m", checks: checks)
            #expect(snapshot.file == "\(scene.snapshot())/\(names[0])")
            try scene.expectSnapshot(Set(names), of: files)
            #expect(scene.content.sentBytes == 200_001)
            scene.server.forget()
            #expect(try scene.fetch("hf:owner/model:\(names[1])").file == snapshot.file)
            #expect(scene.server.requests.isEmpty)
            _ = try scene.fetch("hf:owner/model:Q8_0")
            #expect(scene.server.requests(of: "/api/").isEmpty)
        }
    }

    @Test("of empty files needs no request for them")
    func empty() throws {
        var files = Scene.model
        files["tokenizer.json"] = .init("")
        try Scene.with(.sockets, files) { scene in
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: files)
            #expect(scene.server.requests(of: "tokenizer").isEmpty)
        }
    }

    @Test("of weights that are none ends at their header", arguments: [0, 5, 9, 100_000])
    func noHeader(count: Int) throws {
        var files = Scene.model
        files["model.safetensors"] = .init([UInt8](repeating: 0, count: count), isLarge: true)
        try Scene.with(.sockets, files) { scene in
            let error = scene.error()
            #expect(error?.code == .unexpectedAnswer)
            #expect(error?.location == "model.safetensors")
            #expect(error?.expected == "a safetensors file of \(count) bytes")
            #expect(scene.content.sentBytes <= 16 << 10)
        }
    }
}
