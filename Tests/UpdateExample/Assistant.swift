import Accel
import Foundation

// The example "Update and hot swap" of the article "Storing models": an app with one model, which it updates while it runs.

struct WebFetcher: PackageFetcher {
    let url: URL
    func fetch(
        into folder: String, progress: @escaping @Sendable (Int, Int?) -> Void
    ) async throws -> String {
        let path = "\(folder)/new.accelpkg"
        try Data(contentsOf: url).write(to: URL(fileURLWithPath: path))
        return path
    }
}

@main struct Assistant {
    static func main() async throws {
        guard CommandLine.arguments.count == 3, let url = URL(string: CommandLine.arguments[2]) else {
            print("usage: UpdateExample STORE URL")
            exit(2)
        }
        let store = try ModelStore(at: CommandLine.arguments[1], profile: .phone, limit: 4 << 30)
        let live = try await store.live("assistant")
        let before = live.model  // keeps its version until its last reference ends
        let update = store.update("assistant", from: WebFetcher(url: url))
        Task { for await event in update.events { print(event) } }
        do { print("now", try await update.value.version) } catch { print("kept the old one:", error) }
        do {
            for try await token in try live.model.makeSession().generate(
                from: [1, 2, 3], GenerationOptions(maxTokens: 4))
            {
                print("token", token)
            }
        } catch { print("rolled back to", try await store.rollBack("assistant").version) }
        print(
            before.info.package == live.model.info.package ? "same" : "swapped", try await store.list().map(\.byteCount)
        )
    }
}
