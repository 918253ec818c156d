import Foundation
import TestSupport
import Testing

/// What an app links must not pull Foundation in: on Linux that is some 40 MB, and every start loads it.
@Suite("Imports of the products")
struct ImportLawTests {
    /// The C libraries of the platforms have one name, `AccelPlatform`, in whose folder theirs stand.
    private static let foreign = ["Foundation", "Glibc", "Darwin", "Musl", "Android"]

    private func offenders(in text: String) -> [Substring] {
        text.split(separator: "\n").filter { line in
            let words = line.split(separator: " ").drop {
                ["public", "package", "internal", "@_exported"].contains($0)
            }
            return words.first == "import" && Self.foreign.contains { words.last?.hasPrefix($0) == true }
        }
    }

    @Test("no file imports Foundation, nor a platform's C library by its own name")
    func platforms() throws {
        let sources = try Fixtures.sources()
        #expect(sources.count > 400)
        for (name, text) in sources where !name.hasPrefix("AccelPlatform/") {
            #expect(offenders(in: text).isEmpty, "\(name)")
        }
    }

    @Test("the search finds what it looks for")
    func control() {
        for line in [
            "import Foundation", "public import FoundationEssentials", "@_exported import Foundation",
            "    import Glibc",
        ] {
            #expect(offenders(in: line).count == 1, "\(line)")
        }
        #expect(offenders(in: "import AccelPlatform\n// import Foundation").isEmpty)
    }
}
