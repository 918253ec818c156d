import Foundation
import TestSupport
import Testing

@Suite("Trust by where a package lies")
struct TrustTests {
    /// `trusted` may hold unsigned packages; `eve` may not. Links lead from the one to the other.
    private func withTree(_ body: (String) throws -> Void) throws {
        try withTemporaryFolder { folder in
            let manager = FileManager.default
            for name in ["trusted", "eve/deep"] {
                try manager.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
            }
            let convert = ["convert", Fixtures.path("digits"), "--shape", "batch=1,sequence=65", "-q", "--no-cache"]
            for name in ["trusted/p", "trusted/p.zip", "eve/q", "eve/q.zip"] {
                #expect(try CommandRunner.run(convert + ["-o", name], in: folder).status == 0)
            }
            for (link, target) in [
                ("trusted/link", "../eve/deep"), ("trusted/q", "../eve/q"), ("trusted/q.zip", "../eve/q.zip"),
                ("eve/p", "../trusted/p"),
            ] {
                try manager.createSymbolicLink(atPath: "\(folder)/\(link)", withDestinationPath: target)
            }
            try manager.linkItem(atPath: "\(folder)/eve/q.zip", toPath: "\(folder)/trusted/hard.zip")
            let policy =
                #"{"allowedSigners": "signers", "rules": [{"origin": "*/trusted/*", "unsigned": true}, {"origin": "*", "identities": ["alice"]}]}"#
            try policy.write(toFile: "\(folder)/trust.json", atomically: true, encoding: .utf8)
            try body(folder)
        }
    }

    @Test("A path through a trusted folder that leads elsewhere is not trusted; one that ends there is")
    func paths() throws {
        try withTree { folder in
            let cases: [(path: String, isTrusted: Bool, words: String)] = [
                ("trusted/p", true, "not signed, which the policy"), ("trusted//p/", true, "not signed, which"),
                ("trusted/p.zip", true, "not signed, which"), ("eve/../trusted/p", true, "not signed, which"),
                ("eve/p", true, "not signed, which"), ("trusted/link/../../trusted/p", true, "not signed, which"),
                ("trusted/link/../q", false, "is not signed: there is no"), ("trusted/q", false, "is not signed"),
                ("trusted/link/../q.zip", false, "is not signed"), ("trusted/q.zip", false, "is not signed"),
                ("trusted//link//..//q", false, "is not signed"), ("trusted/../eve/q", false, "is not signed"),
                ("trusted/hard.zip", false, "can be written to by another name"),
            ]
            for (path, isTrusted, words) in cases {
                let result = try CommandRunner.run(
                    ["check-signature", path, "--trust", "trust.json", "--allow-unsigned"], in: folder)
                #expect(result.status == (isTrusted ? 0 : 4), "\(path): \(result.output)\(result.errors)")
                #expect((result.output + result.errors).contains(words), "\(path): \(result.output)\(result.errors)")
            }
        }
    }
}
