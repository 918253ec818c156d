import AccelByteIO
import Foundation

extension Attack {
    /// SSH signatures (OpenSSH's PROTOCOL.sshsig), sound and not. None is of a real key: that is for ssh-keygen to find out.
    public static let sshSignatures: [Attack] = {
        func string(_ bytes: [UInt8], count: Int? = nil) -> [UInt8] {
            let count = UInt32(truncatingIfNeeded: count ?? bytes.count)
            return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + bytes
        }
        func string(_ text: String) -> [UInt8] { string(Array(text.utf8)) }
        func body(
            magic: String = "SSHSIG", version: [UInt8] = [0, 0, 0, 1], key: [UInt8]? = nil,
            namespace: String = "accelc-package@v1", hash: String = "sha512", signature: [UInt8] = [1, 2, 3]
        ) -> [UInt8] {
            Array(magic.utf8) + version
                + string(key ?? string("ssh-ed25519") + string([UInt8](repeating: 7, count: 32)))
                + string(namespace) + string("") + string(hash) + string(signature)
        }
        func armored(_ bytes: [UInt8], begin: String = "-----BEGIN SSH SIGNATURE-----", after: String = "\n") -> [UInt8]
        {
            let text = Array(Data(bytes).base64EncodedString())
            let lines = stride(from: 0, to: text.count, by: 70).map { String(text[$0..<min($0 + 70, text.count)]) }
            return Array(([begin] + lines + ["-----END SSH SIGNATURE-----"]).joined(separator: "\n").utf8)
                + Array(after.utf8)
        }
        func rejected(_ words: String, at offset: UInt64? = nil) -> Verdict {
            .rejected(offset.map { .offset($0) }, words)
        }
        let manifest = String(repeating: "ab", count: 32)
        func stated(_ statement: String) -> [UInt8] { armored(body(), after: "\n\(statement)\n") }
        func statement(_ members: String, type: String = "accelc-package-statement@v1") -> [UInt8] {
            stated(#"{"_type":"\#(type)","manifest":"\#(manifest)"\#(members)}"#)
        }
        return [
            Attack("sound", armored(body()), .accepted),
            Attack("with a name", statement(#","name":"m""#), .accepted),
            Attack("with a name and a version", statement(#","name":"m","version":9007199254740991"#), .accepted),
            Attack("a version alone", statement(#","version":1"#), .rejected(.field("version"), "without a name")),
            Attack("the version 0", statement(#","name":"m","version":0"#), .rejected(.field("version"), "0")),
            Attack("a negative version", statement(#","name":"m","version":-1"#), .rejected(.field("version"), "-1")),
            Attack(
                "a version of 2^53", statement(#","name":"m","version":9007199254740992"#),
                .rejected(.field("version"), "9007199254740992")),
            Attack(
                "a version of text", statement(#","name":"m","version":"1""#), .rejected(.field("version"), "string")),
            Attack(
                "two versions", statement(#","name":"m","version":1,"version":2"#), rejected("occurs twice", at: 140)),
            Attack("no name", statement(#","name":"""#), .rejected(.field("name"), "1 to 100 bytes")),
            Attack(
                "a name with a NUL", statement(#","name":"a\u0000""#), .rejected(.field("name"), "control characters")),
            Attack(
                "a long name", statement(#","name":"\#(String(repeating: "m", count: 101))""#),
                .rejected(.field("name"), "101")),
            Attack(
                "another member", statement(#","name":"m","rollback":true"#),
                .rejected(.field("rollback"), "unknown field")),
            Attack("a statement of another kind", statement("", type: "x@v1"), .rejected(.field("_type"), "\"x@v1\"")),
            Attack(
                "no manifest", stated(#"{"_type":"accelc-package-statement@v1"}"#),
                .rejected(.field("manifest"), "expected")),
            Attack("a cut statement", stated("{\"_type\":"), .rejected(.line(2, column: 1), "ends too early")),
            Attack("two statements", stated("{}\n{}"), rejected("expected -----BEGIN SSH")),
            Attack("without a line end", armored(body(), after: ""), .accepted),
            Attack("empty", [], rejected("is not an SSH signature")),
            Attack("not text", [0xFF, 0xFE], rejected("is not an SSH signature")),
            Attack("too long", [UInt8](repeating: 0x41, count: 70000), rejected("at most 65536 bytes")),
            Attack(
                "another armor", armored(body(), begin: "-----BEGIN PGP SIGNATURE-----"),
                rejected("expected -----BEGIN SSH")),
            Attack("something behind", armored(body(), after: "\nmore"), rejected("expected -----BEGIN SSH")),
            Attack(
                "not base64", Array("-----BEGIN SSH SIGNATURE-----\nA*==\n-----END SSH SIGNATURE-----\n".utf8),
                rejected("not base64")),
            Attack("no content", armored([]), rejected("6 bytes are expected", at: 0)),
            Attack("another magic", armored(body(magic: "SSHSIX")), rejected("does not begin with SSHSIG")),
            Attack("a later version", armored(body(version: [0, 0, 0, 2])), rejected("of version 2, expected 1")),
            Attack("another namespace", armored(body(namespace: "file")), rejected("for \"file\"")),
            Attack("an empty namespace", armored(body(namespace: "")), rejected("for \"\"")),
            Attack(
                "a namespace with a NUL", armored(body(namespace: "accelc-package@v1\0")),
                rejected("says nothing of a package")),
            Attack("an unknown hash", armored(body(hash: "md5")), rejected("unknown hash \"md5\"")),
            Attack("an empty signature", armored(body(signature: [])), rejected("or it is empty")),
            Attack("bytes behind", armored(body() + [0]), rejected("something behind it")),
            Attack("cut", armored(Array(body().dropLast(1))), rejected("bytes are expected here", at: 104)),
            Attack("a key of no type", armored(body(key: [0, 0])), rejected("4 bytes are expected", at: 0)),
            Attack(
                "a length of 2^32-1", armored(Array("SSHSIG".utf8) + [0, 0, 0, 1, 255, 255, 255, 255]),
                rejected("4294967295 bytes are expected", at: 14)),
        ]
    }()

    /// What OpenSSF's model signing signs, of one file.
    public static let modelStatement =
        #"{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"p","digest":{"sha256":"bf5d3affb73efd2ec6c36ad3112dd933efed63c4e1cbffcfa88e2759c144f2d8"}}],"#
        + #""predicateType":"https://model_signing/signature/v1.0","predicate":{"serialization":{"method":"files","hash_type":"sha256","#
        + #""allow_symlinks":false,"ignore_paths":["verify.json"]},"resources":[{"name":"a","algorithm":"sha256","#
        + #""digest":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}]}}"#
    public static let modelSignature =
        #"{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"publicKey":{"hint":null},"tlogEntries":[]},"#
        + #""dsseEnvelope":{"payload":"\#(Data(modelStatement.utf8).base64EncodedString())","payloadType":"application/vnd.in-toto+json","#
        + #""signatures":[{"sig":"AQID","keyid":""}]}}"#
}
