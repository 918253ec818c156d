import AccelByteIO
import TestSupport
import Testing

@testable import AccelPackages

@Suite("Signatures are read as hostile files")
struct SignatureTests {
    @Test(
        "an SSH signature's namespace and key are read; every other form is rejected, with the reason",
        arguments: Attack.sshSignatures)
    func sshSignatures(attack: Attack) {
        #expect(attack.flaw { _ = try SSHSignature($0, file: $1) } == nil)
    }

    @Test("a model signature is read back as it was written, and one that is cut or changed anywhere never traps")
    func modelSignatures() throws {
        let statement = ModelStatement(
            name: "p.accelpkg",
            resources: ["a", "b"].map { ModelStatement.Resource(name: $0, digest: SHA256.digest(of: $0)) },
            ignoredPaths: ["verify.json"])
        let written = ModelSignature(
            payload: Array(statement.text.utf8), signature: [1, 2, 3], keyHint: SHA256.digest(of: "key"))
        let bytes = Array(written.text.utf8)
        func read(_ bytes: [UInt8]) throws -> ModelStatement {
            try ModelStatement(try ModelSignature(ByteView(bytes), file: "s").payload, file: "s")
        }
        #expect(try read(bytes) == statement)
        for count in 0..<bytes.count { #expect(throws: FormatError.self) { _ = try read(Array(bytes[..<count])) } }
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 1 << (index % 8)
            // What remains readable is for the key to reject.
            do { _ = try read(damaged) } catch is FormatError {}
        }
    }

    @Test("a model's name and version are read back from a statement as they were written, and older ones state none")
    func releases() throws {
        let files = [ModelStatement.Resource(name: "a", digest: SHA256.digest(of: "a"))]
        for release in [.unstated, try SignedRelease(name: "m"), try SignedRelease(name: "m", version: 7)] {
            let statement = ModelStatement(name: "p", resources: files, ignoredPaths: [], release: release)
            #expect(try ModelStatement(Array(statement.text.utf8), file: "s") == statement)
            #expect(statement.text.contains("accelc_release") == (release != .unstated))
        }
        #expect(try ModelStatement(Array(Attack.modelStatement.utf8), file: "s").release == .unstated)
        let text = ModelStatement(
            name: "p", resources: files, ignoredPaths: [], release: try SignedRelease(name: "m", version: 7)
        ).text
        for bad in [#""version":0"#, #""version":"7""#, #""version":7,"x":1"#] {
            let changed = text.replacing(#""version":7"#, with: bad)
            #expect(changed != text)
            #expect(throws: FormatError.self, "\(bad)") { _ = try ModelStatement(Array(changed.utf8), file: "s") }
        }
        for name in ["", "a\nb", String(repeating: "m", count: 101)] {
            #expect(throws: RequestError.self, "\(name)") { _ = try SignedRelease(name: name) }
        }
        for version in [0, -1, 1 << 53] {
            #expect(throws: RequestError.self, "\(version)") { _ = try SignedRelease(name: "m", version: version) }
        }
    }

    @Test("a policy's rule asks for a name and a least version")
    func releasePolicies() throws {
        func rule(_ members: String) throws -> TrustPolicy.Rule {
            let text = #"{"allowedSigners": "s", "rules": [{"origin": "*", \#(members)}]}"#
            let schema = try JSONSchema(named: "trust.schema.json")
            #expect(schema.violations(of: try JSON.parse(ByteView(Array(text.utf8)), file: "t")) == [])
            return try TrustPolicy(ByteView(Array(text.utf8)), file: "/t").rule(forRealPath: "/p")
        }
        let asked = try rule(#""identities": ["a"], "name": "m", "minimumVersion": 5"#)
        for version in [5, 6] { try asked.check(try SignedRelease(name: "m", version: version), file: "s") }
        for release in [
            .unstated, try SignedRelease(name: "m"), try SignedRelease(name: "m", version: 4),
            try SignedRelease(name: "n", version: 9),
        ] {
            #expect(throws: FormatError.self, "\(release)") { try asked.check(release, file: "s") }
        }
        try rule(#""identities": ["a"]"#).check(.unstated, file: "s")
        for bad in [
            #""identities": ["a"], "minimumVersion": 0"#, #""identities": ["a"], "name": 7"#,
            #""unsigned": true, "name": "m""#,
        ] {
            let text = #"{"allowedSigners": "s", "rules": [{"origin": "*", \#(bad)}]}"#
            #expect(throws: FormatError.self, "\(bad)") { _ = try TrustPolicy(ByteView(Array(text.utf8)), file: "/t") }
        }
    }

    @Test("a package has all files of a statement, no more, with their digests; the file that differs is named")
    func statedFiles() throws {
        try withTemporaryFolder { folder in
            try PackageWriter.write(try TinyModel().contents(), to: "\(folder)/p")
            let package = try AcceleratorPackage(at: "\(folder)/p")
            let files = try package.statement(name: "p", threads: 1).resources
            func check(_ files: [ModelStatement.Resource]) throws {
                try package.check(
                    against: ModelStatement(name: "p", resources: files, ignoredPaths: []), threads: 1)
            }
            try check(files)
            let more = ModelStatement.Resource(name: "weights-0009.bin", digest: files[0].digest)
            let changed = ModelStatement.Resource(name: files[1].name, digest: files[0].digest)
            for (stated, name, words) in [
                (files + [more], more.name, "the package has none of that name"),
                (Array(files.dropFirst()), files[0].name, "does not list this file"),
                ([files[0], changed] + files[2...], changed.name, "the signature is of a file with SHA-256"),
            ] {
                let error = try #require(throws: FormatError.self) { try check(stated) }
                #expect(error.file.hasSuffix(name) && error.reason.contains(words), "\(error)")
            }
        }
    }

    @Test("a statement that contradicts itself, or is of another kind, is rejected")
    func statements() throws {
        let digest = SHA256.digest(of: "a")
        let good = ModelStatement(
            name: "p", resources: [.init(name: "a", digest: digest)], ignoredPaths: []
        ).text
        _ = try ModelStatement(Array(good.utf8), file: "s")
        for (old, new) in [
            ("Statement/v1", "Statement/v2"), ("signature/v1.0", "signature/v2.0"), (#""files""#, #""shards""#),
            (#""hash_type":"sha256""#, #""hash_type":"blake2""#), (#""algorithm":"sha256""#, #""algorithm":"md5""#),
            ("\"digest\":\"\(digest)\"", "\"digest\":\"\(SHA256.digest(of: "b"))\""), (#""name":"a""#, #""name":7"#),
        ] {
            let bad = good.replacing(old, with: new)
            #expect(bad != good, "\(old)")
            #expect(throws: FormatError.self, "\(new)") { _ = try ModelStatement(Array(bad.utf8), file: "s") }
        }
    }

    @Test("the first rule that fits decides; where none does, nothing is trusted")
    func policies() throws {
        func policy(_ text: String) throws -> TrustPolicy {
            try TrustPolicy(ByteView(Array(text.utf8)), file: "/etc/trust.json")
        }
        let two = try policy(
            #"{"allowedSigners": "signers", "rules": [{"origin": "/models/a/*", "identities": ["x@y"]}, {"origin": "/models/*", "unsigned": true}]}"#
        )
        #expect(two.allowedSigners == "/etc/signers")
        #expect(try two.rule(forRealPath: "/models/a/p").identities == ["x@y"])
        #expect(try two.rule(forRealPath: "/models/p").allowsUnsigned)
        #expect(throws: FormatError.self) { try two.rule(forRealPath: "/home/p") }
        for bad in [
            "{}", #"{"allowedSigners": "s"}"#, #"{"allowedSigners": "s", "rules": [{}]}"#,
            #"{"allowedSigners": "s", "rules": [{"origin": "*"}]}"#,
            #"{"allowedSigners": "s", "rules": [{"origin": "*", "identities": []}]}"#,
            #"{"allowedSigners": "s", "rules": [{"origin": "*", "identities": [""]}]}"#,
            #"{"allowedSigners": "s", "rules": [{"origin": "*", "identities": ["a"], "unsigned": true}]}"#,
            #"{"allowedSigners": "s", "rules": [{"origin": "[", "identities": ["a"]}]}"#,
            #"{"allowedSigners": "s", "rules": [], "allowUnsigned": true}"#,
        ] {
            #expect(throws: FormatError.self, "\(bad)") { _ = try policy(bad) }
        }
        let schema = try JSONSchema(named: "trust.schema.json")
        let document = try JSON.parse(
            ByteView(Array(#"{"allowedSigners": "s", "rules": [{"origin": "*", "identities": ["a"]}]}"#.utf8)),
            file: "t")
        #expect(schema.violations(of: document) == [])
        #expect(schema.violations(of: ["rules": []]) != [])
    }
}
