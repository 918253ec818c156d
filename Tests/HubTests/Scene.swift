import AccelByteIO
import AccelHostTools
import AccelHub
import AccelPlatform
import Foundation
import HubTestSupport
import Testing

/// The transports that are tested: without the program curl, plain sockets alone.
enum Client: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case sockets
    case curl

    static let hasCurl = (ProcessEnvironment.value("PATH") ?? "").split(separator: ":").contains {
        Files.kind(of: "\($0)/curl") == .file
    }
    static let all = hasCurl ? allCases : [.sockets]
    var testDescription: String { rawValue }
}

/// A server with a model, an empty cache and a client.
struct Scene {
    static let (first, second) = (String(repeating: "a", count: 40), String(repeating: "b", count: 40))
    static let repository = "owner/model"
    static let secret = "hf_secretOfATest"

    let folder: String
    let server: LocalHub
    /// The server that has the large files.
    let content: LocalHub
    let client: Client
    var variables: [String: String]
    var policy = HubPolicy()
    var slowSeconds = 30

    /// A model with a tokenizer and weights of 300 kB in a file of its own host.
    static let model: [String: LocalHub.File] = [
        "config.json": .init(#"{"model_type":"bert"}"#), "tokenizer.json": .init(#"{"version":"1.0"}"#),
        "README.md": .init("# A model"), "pytorch_model.bin": .init([1, 2, 3], isLarge: true),
        "model.safetensors": .init(safetensors(300_000), isLarge: true),
    ]

    /// A safetensors file of one tensor with changing bytes.
    static func safetensors(_ byteCount: Int, seed: Int = 0, padding: Int = 0) -> [UInt8] {
        let header =
            #"{"a":{"dtype":"U8","shape":[\#(byteCount)],"data_offsets":[0,\#(byteCount)]}}"#
            + String(repeating: " ", count: padding)
        let length = (0..<8).map { UInt8(truncatingIfNeeded: header.utf8.count >> (8 * $0)) }
        return length + Array(header.utf8) + (0..<byteCount).map { UInt8(truncatingIfNeeded: ($0 &* 31 + seed) >> 3) }
    }

    /// Runs `body` with a scene whose folder is removed at the end.
    static func with<Result>(
        _ client: Client = .sockets, _ files: [String: LocalHub.File] = model, listsDigests: Bool = true,
        _ body: (inout Scene) throws -> Result
    ) throws -> Result {
        let folder = Files.absolutePath(of: "\(NSTemporaryDirectory())/hub-\(UUID().uuidString)")
        try Files.makeFolder(folder)
        defer { try? Files.removeTree(folder) }
        let content = try LocalHub(repository, commit: first, files: files)
        let server = try LocalHub(
            repository, commit: first, files: files, contentHost: content, listsDigests: listsDigests)
        var scene = Scene(folder: folder, server: server, content: content, client: client, variables: [:])
        scene.policy.pause = .milliseconds(1)
        scene.variables = [
            "HF_ENDPOINT": server.endpoint, "HF_HUB_CACHE": "\(folder)/hub", "HF_TOKEN": secret,
            "PATH": ProcessEnvironment.value("PATH") ?? "",
        ]
        return try body(&scene)
    }

    func fetch(
        _ text: String = "hf:owner/model", access: HubAccess = .ifNeeded, checks: HubChecks = HubChecks(),
        cancellation: Cancellation = Cancellation(), progress: @escaping @Sendable (HubProgress) -> Void = { _ in }
    ) throws -> HubSnapshot {
        var curl = CurlHubTransport(environment: variables)
        curl.slowSeconds = slowSeconds
        let transport: any HubTransport = client == .curl ? curl : SocketTransport()
        return try Hub(try HubEnvironment(variables), transport, policy: policy).fetch(
            HubReference(parsing: text), access: access, checks: checks, cancellation: cancellation, progress: progress)
    }

    /// Returns the error of a download.
    func error(_ text: String = "hf:owner/model", access: HubAccess = .ifNeeded) -> HubError? {
        #expect(throws: HubError.self) { try fetch(text, access: access) }
    }

    var repositoryFolder: String { "\(folder)/hub/models--owner--model" }
    func snapshot(_ commit: String = first) -> String { "\(repositoryFolder)/snapshots/\(commit)" }
    func blob(_ file: LocalHub.File?) -> String { "\(repositoryFolder)/blobs/\(file?.etag ?? "none")" }
    func bytes(_ path: String) throws -> [UInt8] { try MappedFile(path).bytes.withBytes { Array($0) } }

    /// The bytes of weights that were sent by either server.
    var sentWeightBytes: Int {
        content.sentBytes + server.requests.filter { $0.path.hasSuffix(".safetensors") }.reduce(0) { $0 + $1.sentBytes }
    }

    /// Expects that the snapshot has exactly these files of the server.
    func expectSnapshot(_ names: Set<String>, of files: [String: LocalHub.File], _ commit: String = first) throws {
        let folder = snapshot(commit)
        let found = try FileManager.default.subpathsOfDirectory(atPath: folder).filter {
            Files.kind(of: "\(folder)/\($0)") == .file
        }
        #expect(Set(found) == names)
        for name in names {
            let path = "\(folder)/\(name)"
            #expect(try bytes(path) == files[name]?.bytes)
            let target = try FileManager.default.destinationOfSymbolicLink(atPath: path)
            let up = String(repeating: "../", count: 1 + name.split(separator: "/").count)
            #expect(target == "\(up)blobs/\(files[name]?.etag ?? "")")
        }
        let blobs = try Files.list("\(repositoryFolder)/blobs")
        #expect(!blobs.contains { $0.hasSuffix(".incomplete") })
    }
}

extension Set<String> {
    static let modelNames: Set = ["config.json", "tokenizer.json", "model.safetensors"]
}
