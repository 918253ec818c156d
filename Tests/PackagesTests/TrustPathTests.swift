import AccelByteIO
import Foundation
import TestSupport
import Testing

@testable import AccelPackages

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A tree in which the words of a path say another folder than the one that they lead to.
private struct HostileTree {
    let root: String
    /// A file or folder each way, by where it really lies.
    static let places = ["trusted/p", "trusted/p.zip", "eve/q", "eve/q.zip", "eve/deep/er"]

    init(in folder: String) throws {
        root = try #require(Self.resolved(folder))
        let manager = FileManager.default
        for place in ["trusted/p", "eve/q", "eve/deep/er"] {
            try manager.createDirectory(atPath: "\(root)/\(place)", withIntermediateDirectories: true)
            try Data(place.utf8).write(to: URL(filePath: "\(root)/\(place)/name"))
        }
        for place in ["trusted/p.zip", "eve/q.zip"] {
            try Data(place.utf8).write(to: URL(filePath: "\(root)/\(place)"))
        }
        for (link, target) in [
            ("trusted/link", "../eve/deep"), ("trusted/file.zip", "../eve/q.zip"), ("trusted/folder", "../eve/q"),
            ("trusted/chain", "link/../q"), ("eve/back", "../trusted"), ("eve/deep/up", "../../trusted/link"),
            ("eve/absolute", "\(root)/trusted/p"), ("trusted/self", "."), ("here", "trusted"),
        ] {
            try manager.createSymbolicLink(atPath: "\(root)/\(link)", withDestinationPath: target)
        }
    }

    static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Ways through the tree, drawn; those that lead nowhere are left out.
    func spellings(_ count: Int, seed: UInt64) -> [String] {
        var generator = SeededGenerator(seed: seed)
        let words = [
            "trusted", "eve", "link", "deep", "up", "back", "here", "self", "chain", "folder", "absolute", "p", "q",
            "er",
            "p.zip", "q.zip", "file.zip", "..", "..", ".", "",
        ]
        var found: Set<String> = []
        for _ in 0..<count * 400 where found.count < count {
            var path = root
            for _ in 0..<Int.random(in: 1...7, using: &generator) {
                let next = path + "/" + (words.randomElement(using: &generator) ?? "")
                if Files.kind(of: next) != nil { path = next }
            }
            if let real = Self.resolved(path), Self.places.contains(where: { real == "\(root)/\($0)" }) {
                found.insert(path)
            }
        }
        return found.sorted()
    }
}

@Suite("Where a package lies")
struct TrustPathTests {
    private func policy(_ root: String) throws -> TrustPolicy {
        let text = """
            {"allowedSigners": "signers", "rules": [{"origin": "\(root)/trusted/*", "unsigned": true},
              {"origin": "\(root)/*", "identities": ["alice"]}]}
            """
        return try TrustPolicy(ByteView(Array(text.utf8)), file: "trust.json")
    }

    @Test("A policy's rule is that of the place where the opened file lies, whatever the words of its path")
    func spellings() throws {
        try withTemporaryFolder { folder in
            let tree = try HostileTree(in: folder)
            let policy = try policy(tree.root)
            let chosen = [
                "trusted/link/../q", "trusted//link/../q/", "trusted/chain", "trusted/../eve/q", "trusted/file.zip",
            ]
            var fooled = 0
            var lenient = 0
            let spellings = chosen.map { "\(tree.root)/\($0)" } + tree.spellings(300, seed: 14)
            for path in spellings {
                let opened = try OpenedPath(path)
                #expect(opened.realPath == HostileTree.resolved(path), "\(path)")
                let isTrusted = opened.realPath.hasPrefix("\(tree.root)/trusted/")
                #expect(try policy.rule(for: opened).allowsUnsigned == isTrusted, "\(path)")
                lenient += isTrusted ? 1 : 0
                let file = opened.kind == .folder ? "\(opened.lastingPath)/name" : opened.lastingPath
                let content = try MappedFile(file).bytes.withBytes { String(decoding: $0, as: UTF8.self) }
                #expect(opened.realPath == "\(tree.root)/\(content)", "\(path) leads to the content of \(content)")
                // Negative control: the words alone, `..` taken as the folder before, say something else for some.
                let words = URL(filePath: path).standardizedFileURL.path
                if words.hasPrefix("\(tree.root)/trusted/"), !isTrusted { fooled += 1 }
            }
            #expect(spellings.count > 200 && lenient > 50 && fooled > 20, "\(spellings.count), \(lenient), \(fooled)")
        }
    }

    @Test("What is held open stays, whatever takes its name")
    func exchanged() throws {
        try withTemporaryFolder { folder in
            let tree = try HostileTree(in: folder)
            let manager = FileManager.default
            for (name, other) in [("trusted/p", "../eve/q"), ("trusted/p.zip", "../eve/q.zip")] {
                let path = "\(tree.root)/\(name)"
                let opened = try OpenedPath(path)
                try manager.moveItem(atPath: path, toPath: "\(path).away")
                try manager.createSymbolicLink(atPath: path, withDestinationPath: other)
                let file = opened.kind == .folder ? "/name" : ""
                func text(_ path: String) throws -> String { try String(contentsOfFile: path + file, encoding: .utf8) }
                #expect(try text(opened.lastingPath) == name)
                #expect(try text(path) != name, "the exchange has an effect")
                #expect(opened.realPath == path)
            }
        }
    }

    @Test(
        "A pattern that no real path can fit is rejected",
        arguments: ["models/*", "/models/../*", "/models//a", "/models/./a", "/models/a/", "./x"])
    func patterns(_ origin: String) {
        let text = #"{"allowedSigners": "s", "rules": [{"origin": "\#(origin)", "unsigned": true}]}"#
        let error = #expect(throws: FormatError.self) {
            try TrustPolicy(ByteView(Array(text.utf8)), file: "trust.json")
        }
        #expect(error?.location == .field("rules[0].origin"))
    }
}
