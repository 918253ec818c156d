import AccelByteIO
import Foundation
import TestSupport
import Testing

@testable import AccelTensors

@Suite("models in the local Hugging Face cache")
struct ModelLocationTests {
    private static let commit = "0123456789abcdef0123456789abcdef01234567"

    /// A cache as the Hub's tools lay it out: links in the snapshot, content in blobs.
    private func withCache(_ body: (_ root: String, _ snapshot: String) throws -> Void) throws {
        try withTemporaryFolder { root in
            let model = "\(root)/models--owner--name"
            let snapshot = "\(model)/snapshots/\(Self.commit)"
            for folder in [snapshot, "\(model)/blobs", "\(model)/refs/pr"] { try Files.makeFolder(folder) }
            try SafetensorsWriter.write(
                [StoredTensor(name: "a", floats: [1], shape: [])], to: "\(model)/blobs/123", as: .part)
            try FileManager.default.createSymbolicLink(
                atPath: "\(snapshot)/model.safetensors", withDestinationPath: "../../blobs/123")
            for reference in ["main", "pr/1"] {
                try Data("\(Self.commit)\n".utf8).write(to: URL(filePath: "\(model)/refs/\(reference)"))
            }
            try body(root, snapshot)
        }
    }

    @Test(
        "a name is found by branch, by commit, with and without hf:",
        arguments: [
            "hf:owner/name", "owner/name", "hf:owner/name@main", "hf:owner/name@pr/1", "hf:owner/name@\(commit)",
        ])
    func found(name: String) throws {
        try withCache { root, snapshot in
            let found = try ModelLocation.resolve(name) { $0 == "HF_HUB_CACHE" ? root : nil }
            #expect(found == snapshot)
            #expect(try Checkpoint(model: found)["a"]?.floats() == [1])
        }
    }

    @Test("what is not there is unavailable, and the error tells where it was looked for")
    func missing() throws {
        try withCache { root, _ in
            for (name, place) in [
                ("hf:owner/other", "models--owner--other"), ("owner/other", "models--owner--other"),
                ("hf:single", "models--single"), ("hf:owner/name@dev", "refs/dev"),
            ] {
                let error = #expect(throws: RequestError.self) {
                    try ModelLocation.resolve(name) { $0 == "HF_HUB_CACHE" ? root : nil }
                }
                #expect(error?.exitStatus == .unavailable)
                #expect(
                    error?.description.contains("\(root)/\(place)") == true
                        || error?.description.contains(place) == true)
            }
        }
    }

    @Test("the name of a file that is missing is no name of a repository")
    func missingFile() throws {
        try withCache { root, _ in
            for name in ["reports/a.json", "packages/a.accelpkg", "\(root)/name"] {
                let error = #expect(throws: RequestError.self) {
                    try ModelLocation.resolve(name) { $0 == "HF_HUB_CACHE" ? root : nil }
                }
                #expect(error?.description.contains("there is no file or folder \(name)") == true)
                #expect(error?.description.contains("Hugging Face cache") == false)
            }
        }
    }

    @Test(
        "names that are none are rejected",
        arguments: ["hf:", "hf:a/b/c", "hf:../x", "hf:a/..", "hf:a/b@../../x", "hf:a b/c", "hf:a/b@", "hf:a//b"])
    func malformed(name: String) {
        let error = #expect(throws: RequestError.self) { try ModelLocation.resolve(name) { _ in nil } }
        #expect(error?.exitStatus == .usage)
    }

    @Test("the cache's place follows the Hub's own rules")
    func roots() {
        func root(_ variables: [String: String]) -> String { HubCache { variables[$0] }.root }
        #expect(root(["HF_HUB_CACHE": "/a", "HF_HOME": "/b", "HOME": "/c"]) == "/a")
        #expect(root(["HF_HOME": "/b", "HOME": "/c"]) == "/b/hub")
        #expect(root(["HF_HOME": "", "HOME": "/c"]) == "/c/.cache/huggingface/hub")
        #expect(root(["XDG_CACHE_HOME": "/x", "HOME": "/c"]) == "/x/huggingface/hub")
    }
}
