import Foundation
import TestSupport
import Testing

@Suite("The articles of the library for apps")
struct ArticleTests {
    private static let folder = "\(Fixtures.repository)/Sources/Accel"

    private static func texts(_ ending: String) throws -> [String] {
        let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return try files.filter { $0.hasSuffix(ending) }.map {
            try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8)
        }
    }

    /// scripts/docs.sh compiles the examples of the articles, and checks their links.
    @Test("every public type stands in one of them")
    func types() throws {
        let declaration = /(?m)^public (?:final )?(?:struct|class|actor|enum|protocol) (\w+)/
        let types = Set(try Self.texts(".swift").flatMap { text in text.matches(of: declaration).map { "\($0.1)" } })
        let articles = try Self.texts(".md").joined(separator: "\n")
        #expect(types.count > 40 && types.contains("AccelModel"))
        let missing = types.filter { !articles.contains("`\($0)`") && !articles.contains("``\($0)/") }
        #expect(missing.isEmpty, "\(missing.sorted())")
    }
}
