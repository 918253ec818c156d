import AccelByteIO
import AccelPlatform
import HubTestSupport
import Testing

@testable import AccelHub

@Suite("The token")
struct HubTokenTests {
    @Test("is sent to the Hub, and not to the host to which it redirects", arguments: Client.all)
    func otherHost(client: Client) throws {
        try Scene.with(client) { scene in
            _ = try scene.fetch()
            #expect(scene.server.requests.allSatisfy { $0.token == "Bearer \(Scene.secret)" })
            #expect(!scene.content.requests.isEmpty)
            #expect(scene.content.requests.allSatisfy { $0.token == nil })
        }
    }

    @Test("follows a repository that was renamed on the same host", arguments: Client.all)
    func sameHost(client: Client) throws {
        try Scene.with(client) { scene in
            let new = "/api/models/owner/model/revision/main?blobs=true"
            scene.server.fail("/api/models/old/name", .status(307, ["Location": new]))
            scene.server.fail(
                "/old/name/resolve", .status(307, ["Location": "/owner/model/resolve/main/config.json"]))
            scene.server.fail("/old/name/resolve", .status(404), times: 3)
            #expect(
                scene.error("hf:old/name")
                    == HubError(.fileNotFound, subject: "hf:old/name", location: "model.safetensors"))
            #expect(scene.server.requests.allSatisfy { $0.token == "Bearer \(Scene.secret)" })
            #expect(scene.server.requests.map(\.path).contains(new))
        }
    }

    @Test("is not needed", arguments: Client.all)
    func none(client: Client) throws {
        try Scene.with(client) { scene in
            scene.variables["HF_TOKEN"] = nil
            scene.server.fail("config", .status(401))
            #expect(
                scene.error()
                    == HubError(.unauthorized, subject: "hf:owner/model", location: "config.json", found: "no token"))
            _ = try scene.fetch()
            #expect(scene.server.requests.allSatisfy { $0.token == nil })
        }
    }

    @Test("is in no list of processes, nor in the environment of the program, nor in a description")
    func secret() throws {
        let token = try #require(try HubToken("abc", of: "x"))
        #expect("\(token)" == "a token")
        try Scene.with { scene in
            var text = ""
            dump(try HubEnvironment(scene.variables), to: &text)
            #expect(!text.contains(Scene.secret))
            #expect(text.contains(scene.server.endpoint))
        }
        #if os(Linux)
            guard Client.hasCurl else { return }
            try Scene.with(.curl) { scene in
                let (scene, result, cancellation) = (scene, WorkQueue<Void>(), Cancellation())
                scene.server.fail("/api/", .stalls)
                DetachedThread.start {
                    _ = try? scene.fetch(cancellation: cancellation)
                    result.add(())
                }
                while scene.server.requests.isEmpty { usleep(1000) }
                var commands: [String] = []
                for process in try Files.list("/proc") where Int(process) != nil {
                    // Files of the system have no size.
                    func text(_ name: String) -> String {
                        let file = FileDescriptor(open("/proc/\(process)/\(name)", O_RDONLY))
                        return String(decoding: file.number < 0 ? [] : file.readToEnd(), as: UTF8.self)
                    }
                    let command = text("cmdline")
                    #expect(!command.contains(Scene.secret))
                    guard command.contains("--config\0-"), !command.contains("sh\0-c") else { continue }
                    commands.append(command)
                    #expect(!text("environ").contains("HF_TOKEN=\(Scene.secret)"))
                }
                #expect(!commands.isEmpty)
                #expect(scene.server.requests.first?.token == "Bearer \(Scene.secret)")
                cancellation.cancel()
                _ = result.next()
            }
        #endif
    }

    @Test(
        "goes nowhere on a redirect to an unusable address",
        arguments: ["ftp://127.0.0.1/x", "//", "x/y", "http://a b/"])
    func badRedirect(location: String) throws {
        try Scene.with { scene in
            scene.server.fail("config", .status(302, ["Location": location]))
            let error = scene.error()
            #expect(error?.code == .invalidRedirect)
            #expect(error?.found == location)
        }
    }

    @Test("goes round in no circle", arguments: Client.all)
    func circle(client: Client) throws {
        try Scene.with(client) { scene in
            scene.server.fail("config", .status(302, ["Location": "/config"]), times: 100)
            #expect(scene.error()?.code == .invalidRedirect)
            #expect(scene.server.requests(of: "config").count == 9)
        }
    }

    @Test("stays encrypted")
    func downgrade() {
        let address = HubAddress("https://huggingface.co/a/b")
        #expect(address?.redirected(to: "http://huggingface.co/c") == nil)
        #expect(address?.redirected(to: "/c?d=e")?.text == "https://huggingface.co/c?d=e")
        #expect(address?.redirected(to: "//cdn.hf.co/c")?.text == "https://cdn.hf.co/c")
        #expect(address?.redirected(to: "https://CDN.hf.co:443/c")?.origin == "https://cdn.hf.co:443")
        #expect(HubAddress("http://localhost:1/x")?.redirected(to: "https://localhost:1/y")?.isSecure == true)
        for bad in [
            "", "x", "https://", "file:///etc", "https://user@host/", "https://a\"b", "https://a\nb", "https://a\\b",
        ] {
            #expect(HubAddress(bad) == nil, "\(bad)")
        }
    }

    @Test("needs a program for requests")
    func noClient() throws {
        try Scene.with(.curl) { scene in
            scene.variables["PATH"] = scene.folder
            #expect(scene.error() == HubError(.noClient, subject: "hf:owner/model", expected: "curl"))
        }
    }
}
