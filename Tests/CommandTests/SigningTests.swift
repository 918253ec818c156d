import Foundation
import TestSupport
import Testing

@Suite("Signatures by real keys")
struct SigningTests {
    private static func path(of tool: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/\(tool)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
    static let hasKeygen = path(of: "ssh-keygen") != nil
    static let hasOpenSSL = path(of: "openssl") != nil

    /// Runs another program in a folder; its standard output goes to a file of that name, if there is one.
    private func run(_ tool: String, _ words: [String], in folder: String, input: String? = nil, output: String? = nil)
        throws
    {
        let process = Process()
        process.executableURL = URL(filePath: try #require(Self.path(of: tool)))
        process.arguments = words
        process.currentDirectoryURL = URL(filePath: folder)
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardInput =
            try input.map { try #require(FileHandle(forReadingAtPath: "\(folder)/\($0)")) } ?? .nullDevice
        if let output {
            try Data().write(to: URL(filePath: "\(folder)/\(output)"))
            process.standardOutput = FileHandle(forWritingAtPath: "\(folder)/\(output)")
        }
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(tool) \(words)")
    }

    private static let packages = SharedFolder { folder in
        for (name, compress) in [("p", "float16"), ("q", "float32")] {
            let words = ["convert", Fixtures.path("digits"), "--shape", "batch=1,sequence=65", "--compress", compress]
            try CommandRunner.succeed(words + ["-q", "-o", "\(name).accelpkg"], in: folder)
        }
    }

    private func withPackage(_ body: (_ folder: String) throws -> Void) throws {
        try Self.packages.withCopy(body)
    }

    private func expect(
        _ status: Int32, _ words: String, of line: [String], in folder: String,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let result = try CommandRunner.run(line, in: folder)
        #expect(result.status == status, "\(result.errors)", sourceLocation: location)
        #expect(
            (result.output + result.errors).contains(words), "\(result.output)\(result.errors)",
            sourceLocation: location)
    }

    @Test(
        "SSH: the signer is told; another identity, namespace or package, and a changed or added file, are rejected with 4",
        .enabled(if: hasKeygen, "ssh-keygen is not installed"))
    func ssh() throws {
        try withPackage { folder in
            for key in ["alice", "eve"] {
                try run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", key, "-f", key], in: folder)
            }
            let key = try String(contentsOfFile: "\(folder)/alice.pub", encoding: .utf8)
            let signers = "alice@example.org namespaces=\"accelc-package@v1\" \(key)"
            try signers.write(toFile: "\(folder)/signers", atomically: true, encoding: .utf8)
            let check = [
                "check-signature", "p.accelpkg", "--allowed-signers", "signers", "--identity", "alice@example.org",
            ]

            try expect(
                0, "p.accelpkg.sig: signs the package", of: ["sign", "p.accelpkg", "--key", "alice"], in: folder)
            try expect(0, "signed by alice@example.org (ssh-ed25519)", of: check, in: folder)
            // A public key in place of the list of signers.
            try expect(
                2, "alice.pub has no key of alice@example.org: it needs a line with the identity and the public key",
                of: check.map { $0 == "signers" ? "alice.pub" : $0 }, in: folder)
            // The same without this tool.
            try run(
                "ssh-keygen",
                [
                    "-Y", "verify", "-f", "signers", "-I", "alice@example.org", "-n", "accelc-package@v1", "-s",
                    "p.accelpkg.sig",
                ],
                in: folder, input: "p.accelpkg/manifest.json")

            // Who has no line in the list, and what is no list at all.
            let needed = "it needs a line with the identity and the public key, such as \""
            try expect(
                2, "signers has no key of bob@example.org: \(needed)bob@example.org ssh-ed25519 AAAA",
                of: check.dropLast() + ["bob@example.org"], in: folder)
            try "hello there\n".write(toFile: "\(folder)/mine.txt", atomically: true, encoding: .utf8)
            try expect(
                2, "mine.txt has no key of alice@example.org: \(needed)",
                of: check.map { $0 == "signers" ? "mine.txt" : $0 }, in: folder)
            let unmet =
                #"{"allowedSigners": "mine.txt", "rules": [{"origin": "*", "identities": ["alice@example.org"]}]}"#
            try unmet.write(toFile: "\(folder)/unmet.json", atomically: true, encoding: .utf8)
            try expect(
                4, "p.accelpkg.sig: is by nobody whom the policy names: ",
                of: ["check-signature", "p.accelpkg", "--trust", "unmet.json"], in: folder)
            try rejectedKeys(in: folder)

            try expect(0, "q.accelpkg.sig", of: ["sign", "q.accelpkg", "--key", "eve"], in: folder)
            let other = ["check-signature", "q.accelpkg"] + check.dropFirst(2)
            try expect(4, "is not alice@example.org's signature", of: other, in: folder)
            try expect(
                4, "is not alice@example.org's signature", of: other + ["--signature", "p.accelpkg.sig"], in: folder)
            try run(
                "ssh-keygen", ["-q", "-Y", "sign", "-f", "alice", "-n", "file"], in: folder,
                input: "p.accelpkg/manifest.json",
                output: "file.sig")
            try expect(
                4, "for \"file\", and not for \"accelc-package@v1\"", of: check + ["--signature", "file.sig"],
                in: folder)

            // For a model and a version, which are signed, too.
            let release = ["--name", "assistant", "--model-version", "7"]
            try expect(
                0, "for \"assistant\", version 7, with alice",
                of: ["sign", "p.accelpkg", "--key", "alice", "-o", "r.sig"] + release, in: folder)
            let named = check + ["--signature", "r.sig"]
            try expect(0, "(ssh-ed25519), for \"assistant\", version 7, ", of: named, in: folder)
            try expect(0, #""name": "assistant""#, of: named + ["--json"], in: folder)
            let signed = try String(contentsOfFile: "\(folder)/r.sig", encoding: .utf8)
            let line = try #require(signed.split(separator: "\n").last)
            try "\(line)\n".write(toFile: "\(folder)/line", atomically: true, encoding: .utf8)
            try run(
                "ssh-keygen",
                ["-Y", "verify", "-f", "signers", "-I", "alice@example.org", "-n", "accelc-package@v1", "-s", "r.sig"],
                in: folder, input: "line")
            for changed in [
                signed.replacing(":7}", with: ":8}"), signed.replacing("assistant", with: "other"),
                signed.replacing("\(line)\n", with: ""),
            ] {
                try changed.write(toFile: "\(folder)/changed.sig", atomically: true, encoding: .utf8)
                try expect(
                    4, "is not alice@example.org's signature", of: check + ["--signature", "changed.sig"], in: folder)
            }
            let others = ["check-signature", "q.accelpkg", "--signature", "r.sig"] + check.dropFirst(2)
            try expect(4, "but this package's has", of: others, in: folder)
            for (asked, status) in [
                (#""name": "assistant", "minimumVersion": 7"#, Int32(0)), (#""minimumVersion": 8"#, 4),
                (#""name": "other""#, 4),
            ] {
                let policy =
                    #"{"allowedSigners": "signers", "rules": [{"origin": "*", "identities": ["alice@example.org"], \#(asked)}]}"#
                try policy.write(toFile: "\(folder)/named.json", atomically: true, encoding: .utf8)
                let line = ["check-signature", "p.accelpkg", "--trust", "named.json", "--signature", "r.sig"]
                try expect(status, status == 0 ? "signed by" : "the policy asks for", of: line, in: folder)
            }
            try expect(
                2, "--name", of: ["sign", "p.accelpkg", "--key", "alice", "--model-version", "7"], in: folder)

            // One signature for the folder and its archive.
            let zip = ["convert", Fixtures.path("digits"), "--shape", "batch=1,sequence=65", "--compress", "float16"]
            #expect(try CommandRunner.run(zip + ["-q", "-o", "p.zip"], in: folder).status == 0)
            try expect(
                0, "signed by alice",
                of: ["check-signature", "p.zip", "--signature", "p.accelpkg.sig"] + check.dropFirst(2), in: folder)

            let policy =
                #"{"allowedSigners": "signers", "rules": [{"origin": "*/p.*", "identities": ["zoe@x", "alice@example.org"]}, {"origin": "*", "identities": ["alice@example.org"]}]}"#
            try policy.write(toFile: "\(folder)/trust.json", atomically: true, encoding: .utf8)
            try expect(
                0, "signed by alice", of: ["check-signature", "p.accelpkg", "--trust", "trust.json"], in: folder)
            try expect(
                4, "is not alice", of: ["check-signature", "q.accelpkg", "--trust", "trust.json", "--allow-unsigned"],
                in: folder)

            try Data([1]).write(to: URL(filePath: "\(folder)/p.accelpkg/assets/extra"))
            try expect(4, "does not list this file", of: check, in: folder)
            try FileManager.default.removeItem(atPath: "\(folder)/p.accelpkg/assets/extra")
            let blob = URL(filePath: "\(folder)/p.accelpkg/weights-0000.bin")
            var bytes = try Data(contentsOf: blob)
            bytes[64] ^= 1
            try bytes.write(to: blob)
            try expect(4, "expected the digest", of: check, in: folder)
            // And what is damaged is not signed.
            try expect(4, "weights-0000.bin", of: ["sign", "p.accelpkg", "--key", "alice", "-o", "no.sig"], in: folder)
            #expect(!FileManager.default.fileExists(atPath: "\(folder)/no.sig"))
        }
    }

    /// What ssh-keygen cannot sign with, by what it is.
    private func rejectedKeys(in folder: String) throws {
        func reject(_ key: String, _ words: String) throws {
            try expect(3, words, of: ["sign", "p.accelpkg", "--key", key, "-o", "no.sig"], in: folder)
        }
        try reject("mine.txt", "mine.txt is no private key of SSH; ssh-keygen -t ed25519 -f KEY makes one")
        let manager = FileManager.default
        try manager.copyItem(atPath: "\(folder)/alice.pub", toPath: "\(folder)/lone.pub")
        try reject("lone.pub", "lone.pub is a public key, and no agent has its private key: ")
        try manager.copyItem(atPath: "\(folder)/eve", toPath: "\(folder)/open")
        try manager.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(folder)/open")
        try reject("open", "ssh-keygen does not sign with open, which others may read: chmod 600 open")
        try run("ssh-keygen", ["-q", "-t", "rsa", "-m", "PEM", "-N", "", "-C", "", "-f", "pem"], in: folder)
        try manager.removeItem(atPath: "\(folder)/pem.pub")
        try reject("pem", "without its public key beside it: ssh-keygen -y -f pem > pem.pub")
    }

    @Test(
        "OpenSSF model signing: every curve's key is told; another key, another package and a changed statement are rejected with 4",
        .enabled(if: hasOpenSSL, "openssl is not installed"))
    func oms() throws {
        try withPackage { folder in
            for curve in ["prime256v1", "secp384r1", "secp521r1", "secp256k1"] {
                try run(
                    "openssl", ["ecparam", "-name", curve, "-genkey", "-noout", "-out", "\(curve).pem"], in: folder)
                try run("openssl", ["pkey", "-in", "\(curve).pem", "-pubout", "-out", "\(curve).pub"], in: folder)
            }
            func sign(_ curve: String) -> [String] {
                ["sign", "p.accelpkg", "--format", "oms", "--key", "\(curve).pem"]
            }
            func check(_ curve: String, _ package: String = "p") -> [String] {
                [
                    "check-signature", "\(package).accelpkg", "--public-key", "\(curve).pub", "--signature",
                    "p.accelpkg.oms.sig",
                ]
            }
            for curve in ["secp384r1", "secp521r1", "prime256v1"] {
                try expect(0, "p.accelpkg.oms.sig", of: sign(curve), in: folder)
                try expect(0, "signed by the key in \(curve).pub", of: check(curve), in: folder)
            }
            // The model and its version are in the statement.
            try expect(
                0, "for \"assistant\", version 7,",
                of: sign("prime256v1") + ["--name", "assistant", "--model-version", "7"],
                in: folder)
            try expect(0, "for \"assistant\", version 7, ", of: check("prime256v1"), in: folder)
            try expect(2, "is no key on the curves", of: sign("secp256k1"), in: folder)
            try "hello there\n".write(toFile: "\(folder)/text.pem", atomically: true, encoding: .utf8)
            try expect(3, "; openssl ecparam -name prime256v1 -genkey -noout -out KEY", of: sign("text"), in: folder)
            try expect(4, "and not by the one in secp384r1.pub", of: check("secp384r1"), in: folder)
            try expect(4, "the signature is of a file with SHA-256", of: check("prime256v1", "q"), in: folder)

            let file = "\(folder)/p.accelpkg.oms.sig"
            let whole = try String(contentsOfFile: file, encoding: .utf8)
            let start = try #require(whole.range(of: "\"payload\":\"")?.upperBound)
            var changed = whole
            // A letter of the statement's text, after its base64.
            changed.replaceSubrange(start...start, with: whole[start] == "e" ? "f" : "e")
            try changed.write(toFile: file, atomically: true, encoding: .utf8)
            try expect(4, "is not by the key in prime256v1.pub", of: check("prime256v1"), in: folder)
        }
    }
}
