import Foundation
import TestSupport
import Testing

@testable import AccelByteIO

/// An interruption removes only what `TemporaryPaths` knows. So nothing else makes a name for unfinished work, or gives
/// one away by a rename.
@Suite("Names of unfinished files")
struct TemporaryNameLawTests {
    private let makers =
        /\.partial"|\bO_CREAT\b|\b(Files\.rename|rename|renameat|renamex_np|mkdir|mkdirat|mkstemp|mkdtemp|link|linkat|symlink|clonefile|fopen)\(/
    /// The files that may, with the reason.
    private static let allowed = [
        "AccelByteIO/Output/TemporaryNames.swift": "the names",
        "AccelByteIO/Output/TemporaryPaths+Publishing.swift": "their publication",
        "AccelByteIO/Output/Disk.swift": "the rename for it",
        "AccelByteIO/Output/AtomicFile.swift": "within TemporaryPaths.making",
        "AccelByteIO/Output/TemporaryFolder.swift": "within TemporaryPaths.making",
        "AccelByteIO/Output/ScratchFile.swift": "within TemporaryPaths.making, and unlinked at once",
        "AccelByteIO/Files+Copying.swift": "within TemporaryPaths.making, or in the caller's temporary folder",
        "AccelByteIO/Files.swift": "folders that stay",
        "AccelByteIO/FileLock.swift": "lock files: within TemporaryPaths.making, or files that stay",
        "AccelPackages/Cache/Local/CacheNames.swift": "recognises names that earlier versions made",
        "AccelPackages/Cache/Local/Cache+CleanUp.swift": "moves a complete package away, to remove it",
        "AccelPackages/Cache/Local/CacheFolder+Verification.swift": "moves a complete file into quarantine",
        "AccelHub/IncompleteBlob.swift": "downloads that stay, so that the next call continues them",
        "AccelHub/RepositoryCache.swift": "the links of a snapshot, by their final names",
        "AccelConversion/ContractExport.swift": "in the temporary folder of a contract, which is published as a whole",
        "AccelPackages/Store/StoreFolder+Versions.swift": "moves a complete version into its place, or away",
    ]

    private func offenders(in text: String) -> [String] {
        text.split(separator: "\n").filter { line in
            !line.trimmingCharacters(in: .whitespaces).hasPrefix("//") && line.contains(makers)
                && !line.contains("func ")
        }.map(String.init)
    }

    @Test("only the files that are named here make an entry of the file system, and each of them does")
    func oneMaker() throws {
        let sources = try Fixtures.sources()
        #expect(sources.count > 400)
        #expect(Set(sources.filter { !offenders(in: $0.value).isEmpty }.keys) == Set(Self.allowed.keys))
    }

    @Test("the search finds what it looks for")
    func control() {
        for line in [
            #"let partial = "\(folder)/.\(random).partial""#, "let d = open(path, O_WRONLY | O_CREAT)",
            "try Files.rename(partial, to: path)", "guard mkdir(path, 0o700) == 0 else {",
            "if link(source, target) == 0 {",
        ] { #expect(offenders(in: line).count == 1, "\(line)") }
        for line in ["// O_CREAT", "    private static func rename(_ path: String) {", "try cache.link2(files)"] {
            #expect(offenders(in: line).isEmpty, "\(line)")
        }
    }

    @Test("a temporary name is recognised by the name that it stands for, and by no other")
    func siblings() throws {
        let long = String(repeating: "n", count: 60)
        for name in ["verify.json", "a", ".hidden", "a.b.partial", long] {
            let sibling = Files.name(of: try TemporaryPaths.sibling(of: "/folder/\(name)"))
            #expect(TemporaryPaths.isSibling(sibling, of: name))
            #expect(TemporaryPaths.shown("./\(sibling)/a") == "\(name.prefix(40))/a")
            #expect(!TemporaryPaths.isSibling(sibling, of: "other"))
            #expect(!TemporaryPaths.isSibling("x\(sibling)", of: name))
            #expect(!TemporaryPaths.isSibling("\(sibling)x", of: name))
        }
        for name in [
            "", ".", ".partial", "..partial", ".a.partial", ".a..partial", ".a.G.partial",
            ".a.0123456789abcdef0.partial",
        ] {
            #expect(TemporaryPaths.start(ofSibling: name) == nil, "\(name)")
        }
    }
}
