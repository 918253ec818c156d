import Accel
import AccelByteIO
import AccelHostTools
import AccelPackages
import Foundation
import TestSupport
import Testing

@Suite("Names and versions of signed models")
struct ReleaseTests {
    /// Accepts what a file beside the package says: its digest, a name, and a version. With the digest alone, and without a file for
    /// the name, it is a signature of earlier versions.
    private struct Verifier: SignatureVerifier {
        func verify(_ package: AcceleratorPackage) throws { _ = try verifiedRelease(of: package) }

        func verifiedRelease(of package: AcceleratorPackage) throws -> SignedRelease {
            let text = try String(contentsOfFile: package.path + ".sig", encoding: .utf8)
            let parts = text.split(separator: " ").map(String.init)
            guard parts.first == package.digest.description else { throw RequestError("is another package's") }
            guard parts.count > 1 else { return .unstated }
            return try SignedRelease(name: parts[1], version: parts.count > 2 ? Int(parts[2]) : nil)
        }
    }

    private struct Bench {
        let bench = Result { try StoreBench() }
        let store: ModelStore

        init() throws { store = try bench.get().store(trust: .signed(Verifier())) }

        /// A package that is signed with these words behind its digest.
        func package(_ number: Int, _ words: String) throws -> String {
            let path = try bench.get().package(NumberedModel(number), "\(number) \(words)")
            let digest = try AcceleratorPackage(at: path).digest
            try Data("\(digest) \(words)".utf8).write(to: URL(filePath: path + ".sig"))
            return path
        }

        func update(_ path: String, _ name: String = "m", allowsRollback: Bool = false) async throws -> StoredModel {
            try await store.update(name, from: LocalPackage(path), allowsRollback: allowsRollback).value
        }

        /// Expects that an update is rejected, and changes nothing.
        func rejected(_ path: String, to name: String = "m", allowsRollback: Bool = false, _ words: String) async throws
        {
            let before = try? await store.model(name)
            let error = await #expect(throws: AccelError.self) {
                try await update(path, name, allowsRollback: allowsRollback)
            }
            #expect(error?.code == .untrusted && error?.description.contains(words) == true, "\(error as Any)")
            let after = try? await store.model(name)
            #expect(after == before)
        }
    }

    @Test("a replayed older version is rejected, unless a rollback is allowed; the same one and later ones are taken")
    func replay() async throws {
        let bench = try Bench()
        let old = try bench.package(1, "m 1")
        #expect(try await bench.update(old).release == SignedRelease(name: "m", version: 1))
        let new = try bench.package(2, "m 3")
        _ = try await bench.update(new)
        try await bench.rejected(old, "version 3 or a later one")
        try await bench.rejected(try bench.package(3, "m 2"), "version 2")
        // A name without a version, and a signature of earlier versions, are older than every version.
        try await bench.rejected(try bench.package(4, "m"), "version 3")
        try await bench.rejected(try bench.package(5, ""), "no model")
        _ = try await bench.update(new)
        _ = try await bench.update(try bench.package(6, "m 3"))
        // Another handle of the store has the same opinion: it is in the record.
        let again = try bench.bench.get().store(trust: .signed(Verifier()))
        let error = await #expect(throws: AccelError.self) {
            try await again.update("m", from: LocalPackage(old)).value
        }
        #expect(error?.code == .untrusted)
        let back = try await bench.update(old, allowsRollback: true)
        #expect(back.release?.version == 1)
        // From there on this version counts.
        _ = try await bench.update(try bench.package(3, "m 2"))
    }

    @Test("a package of another model is rejected, also where a rollback is allowed")
    func names() async throws {
        let bench = try Bench()
        let other = try bench.package(1, "other 9")
        for allowsRollback in [false, true] {
            try await bench.rejected(other, allowsRollback: allowsRollback, "\"other\", version 9")
        }
        _ = try await bench.update(other, "other")
        _ = try await bench.update(try bench.package(2, "m 1"))
        try await bench.rejected(other, "a signature for \"m\"")
    }

    @Test("signatures of earlier versions go on to be taken, until one states a model")
    func unstated() async throws {
        let bench = try Bench()
        for number in [1, 2, 1] { _ = try await bench.update(try bench.package(number, "")) }
        #expect(try await bench.store.model("m").release == nil)
        _ = try await bench.update(try bench.package(3, "m"))
        try await bench.rejected(try bench.package(2, ""), "no model")
        _ = try await bench.update(try bench.package(2, ""), allowsRollback: true)
    }

    @Test(
        "a version that is signed again for a higher number has that number; a store that asks for no signature has none"
    )
    func again() async throws {
        let bench = try Bench()
        let path = try bench.package(1, "m 1")
        _ = try await bench.update(path)
        let digest = try AcceleratorPackage(at: path).digest
        try Data("\(digest) m 5".utf8).write(to: URL(filePath: path + ".sig"))
        #expect(try await bench.update(path).release?.version == 5)
        try await bench.rejected(try bench.package(2, "m 4"), "version 5")

        let open = try StoreBench()
        let store = try open.store()
        _ = try await store.update("m", from: LocalPackage(path)).value
        #expect(try await store.model("m").release == nil)
        _ = try await store.update("m", from: LocalPackage(try bench.package(2, "m 4"))).value
    }

    @Test("going back to the version before takes its number along")
    func rollBack() async throws {
        let bench = try Bench()
        _ = try await bench.update(try bench.package(1, "m 1"))
        #expect(try await StoreBench.number(in: bench.store) == 1)
        _ = try await bench.update(try bench.package(2, "m 5"))
        let back = try await bench.store.rollBack("m")
        #expect(back.release?.version == 1)
        _ = try await bench.update(try bench.package(3, "m 2"))
    }

    #if os(Linux)
        private static let keygen = "/usr/bin/ssh-keygen"

        private static func keygen(_ words: [String]) throws {
            let process = Process()
            process.executableURL = URL(filePath: keygen)
            process.arguments = words
            (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
            process.standardInput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw RequestError("ssh-keygen failed: \(words)") }
        }

        @Test(
            "with real keys: the older package, the other model's, and a changed name, version or line are rejected",
            .enabled(if: FileManager.default.isExecutableFile(atPath: keygen), "needs ssh-keygen"))
        func keys() async throws {
            let bench = try StoreBench()
            let (key, signers) = ("\(bench.folder)/key", "\(bench.folder)/signers")
            try Self.keygen(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key])
            let publicKey = try String(contentsOfFile: "\(key).pub", encoding: .utf8)
            try Data("alice namespaces=\"accelc-package@v1\" \(publicKey)".utf8).write(to: URL(filePath: signers))
            let verifier = SSHSignatureVerifier(allowedSigners: signers, identities: ["alice"])
            let store = try bench.store(trust: .signed(verifier))
            func sign(_ number: Int, _ release: SignedRelease) throws -> String {
                let path = try bench.package(NumberedModel(number), "\(number) \(release.version ?? 0)")
                let signature = try SSHKeygen().sign(try AcceleratorPackage(at: path), for: release, key: key)
                try Data(signature).write(to: URL(filePath: path + ".sig"))
                return path
            }
            func rejected(_ path: String) async {
                let error = await #expect(throws: AccelError.self) {
                    try await store.update("m", from: LocalPackage(path)).value
                }
                #expect(error?.code == .untrusted, "\(error as Any)")
            }
            // A signature of earlier versions is taken, and says nothing.
            let plain = try sign(1, .unstated)
            #expect(try await store.update("m", from: LocalPackage(plain)).value.release == nil)
            let new = try sign(2, try SignedRelease(name: "m", version: 7))
            let stored = try await store.update("m", from: LocalPackage(new)).value
            #expect(try stored.release == SignedRelease(name: "m", version: 7))
            _ = try await AccelModel(.stored("m", in: store))
            await rejected(plain)
            await rejected(try sign(3, try SignedRelease(name: "m", version: 6)))
            await rejected(try sign(4, try SignedRelease(name: "n", version: 8)))
            // Changed after it was signed: every part of the line, the line away, the line of another, two lines.
            let file = URL(filePath: new + ".sig")
            let whole = try String(contentsOf: file, encoding: .utf8)
            let line = try #require(whole.split(separator: "\n").last)
            let other = try String(
                contentsOfFile: try sign(5, try SignedRelease(name: "m", version: 9)) + ".sig", encoding: .utf8)
            for changed in [
                whole.replacing(":7}", with: ":8}"), whole.replacing("\"m\"", with: "\"n\""),
                whole.replacing(",\"version\":7", with: ""), whole.replacing("\(line)\n", with: ""),
                whole.replacing(line, with: try #require(other.split(separator: "\n").last)), whole + "\(line)\n",
                whole.replacing("{\"_type\"", with: "{ \"_type\""), other,
            ] {
                #expect(changed != whole)
                try Data(changed.utf8).write(to: file)
                await rejected(new)
            }
            try Data(whole.utf8).write(to: file)
            _ = try await store.update("m", from: LocalPackage(new)).value
        }
    #endif
}
