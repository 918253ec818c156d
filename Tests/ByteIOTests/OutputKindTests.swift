import Foundation
import TestSupport
import Testing

@testable import AccelByteIO

/// A file that begins with "mine", and a folder that holds nothing but a file "mine".
private let file = OutputKind.file("a test's file") { path in
    let isMine = try MappedFile(path).bytes.withBytes { $0.starts(with: Array("mine".utf8)) }
    return isMine ? nil : "it does not begin with mine"
}
private let folder = OutputKind.folder("a test's folder") { path in
    try Files.list(path) == ["mine"] ? nil : "it holds \(try Files.list(path))"
}

private func write(_ text: String, to path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }

/// Everything below a folder: names with kinds and, of files, contents.
private func contents(of path: String) throws -> [String] {
    try Files.list(path).flatMap { name -> [String] in
        let member = "\(path)/\(name)"
        switch Files.kindWithoutFollowing(member) {
        case .folder: return ["\(name)/"] + (try contents(of: member).map { "\(name)/\($0)" })
        case .file: return ["\(name): \(try String(contentsOfFile: member, encoding: .utf8))"]
        case let kind: return ["\(name), \(kind.map { "\($0)" } ?? "nothing")"]
        }
    }
}

@Suite("what an output may replace")
struct OutputKindTests {
    enum Form: CaseIterable { case file, copy, folder }

    /// Writes an output of the form's kind to `path`.
    private func put(_ form: Form, _ path: String, _ text: String) throws {
        switch form {
        case .file:
            var output = try AtomicFile(replacing: path, as: file)
            try output.write("mine \(text)")
            try output.commit()
        case .copy:
            try withTemporaryFolder { other in
                try write("mine \(text)", to: "\(other)/source")
                try Files.copyAtomically("\(other)/source", to: path, as: file)
            }
        case .folder:
            let output = try AtomicFolder(replacing: path, as: folder)
            try write(text, to: "\(output.path)/mine")
            try output.commit()
        }
    }

    /// Things that may stand at an output, none of which may go.
    private static let occupants: [(name: String, make: @Sendable (String) throws -> Void)] = [
        ("a file", { try write("yours", to: $0) }),
        ("an empty file", { try write("", to: $0) }),
        ("an empty folder", { try Files.makeFolder($0) }),
        (
            "a folder with files",
            {
                try Files.makeFolder("\($0)/deep")
                try write("yours", to: "\($0)/deep/file")
            }
        ),
        (
            "an earlier output with something else in it",
            {
                try Files.makeFolder($0)
                try write("old", to: "\($0)/mine")
                try write("yours", to: "\($0)/yours")
            }
        ),
        ("a broken link", { try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: "nowhere") }),
        (
            "a link to an earlier output",
            {
                try write("mine", to: "\($0).target")
                try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: "\($0).target")
            }
        ),
        ("a pipe", { guard mkfifo($0, 0o600) == 0 else { throw CocoaError(.fileWriteUnknown) } }),
    ]

    @Test("nothing, and an earlier output, are replaced", arguments: Form.allCases)
    func replaced(_ form: Form) throws {
        try withTemporaryFolder { root in
            for text in ["1", "2", "3"] {
                try put(form, "\(root)/o", text)
                let text = form == .folder ? "o/mine: \(text)" : "o: mine \(text)"
                #expect(try contents(of: root).last == text)
            }
            #expect(try Files.list(root) == ["o"])
        }
    }

    @Test("anything else is rejected when an output begins, and stays", arguments: Form.allCases, occupants.indices)
    func rejected(_ form: Form, _ index: Int) throws {
        try withTemporaryFolder { root in
            try Self.occupants[index].make("\(root)/o")
            let before = try contents(of: root)
            let error = #expect(throws: RequestError.self) { try put(form, "\(root)/o", "new") }
            #expect(error?.exitStatus == .usage)
            #expect(error?.description.hasPrefix("\(root)/o exists, and is not a test's ") == true)
            #expect(try contents(of: root) == before)
        }
    }

    /// What another process does right before the decision that comes last, or right after it.
    enum Moment: CaseIterable { case before, after }

    @Test(
        "what appears while an output is made is rejected when it is to be published, and stays",
        arguments: Form.allCases,
        occupants.indices)
    func appearing(_ form: Form, _ index: Int) throws {
        for moment in Moment.allCases {
            for isReplacing in [false, true] {
                try withTemporaryFolder { root in
                    let path = "\(root)/o"
                    if isReplacing { try put(form, path, "old") }
                    let (before, exchanges) = (Locked<[String]?>(nil), Locked(0))
                    let appear: @Sendable () -> Void = {
                        guard before.withLock({ $0 == nil }) else { return }
                        try? Files.removeTree(path)
                        try? Self.occupants[index].make(path)
                        let found = (try? contents(of: root).filter { !$0.contains(".partial") }) ?? []
                        before.withLock { $0 = found }
                    }
                    let error = #expect(throws: RequestError.self) {
                        try Disk.observing(
                            root,
                            { event in
                                switch event {
                                case .deciding where moment == .before: appear()
                                case .publishing where moment == .after: appear()
                                case .publishing(_, path): exchanges.withLock { $0 += 1 }
                                default: break
                                }
                            }
                        ) { try put(form, path, "new") }
                    }
                    #expect(
                        error?.description.hasPrefix("\(path) exists, and is not a test's ") == true, "\(error as Any)")
                    #expect(error?.description.contains(".partial") == false, "\(error as Any)")
                    #expect(try contents(of: root) == before.withLock { $0 })
                    #expect(exchanges.withLock { $0 } == 0, "what is there has another name for a moment")
                }
            }
        }
    }

    @Test(
        "several that write one output at once: each succeeds, and one of the results is there, whole",
        arguments: Form.allCases)
    func race(_ form: Form) throws {
        try withTemporaryFolder { root in
            for round in 0..<20 {
                let failures = Locked<[String]>([])
                DispatchQueue.concurrentPerform(iterations: 6) { index in
                    do {
                        try put(form, "\(root)/\(round)", "\(index)")
                    } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                }
                #expect(failures.withLock { $0 } == [])
                #expect(try Files.list(root).count == round + 1)
            }
            let all = try contents(of: root).filter { !$0.hasSuffix("/") }
            #expect(all.count == 20)
            for text in all {
                #expect(text.wholeMatch(of: form == .folder ? /\d+\/mine: [0-5]/ : /\d+: mine [0-5]/) != nil)
            }
        }
    }

    @Test(
        "a written file is the same while its size and, where its digest is known, its bytes are; a large one, its size"
    )
    func written() {
        let bytes = [UInt8](repeating: 7, count: 100)
        let digest = TreeDigest.digest(of: ByteView(bytes))
        var (changed, large) = (bytes, [UInt8](repeating: 7, count: WrittenFile.comparedBytes + 1))
        changed[99] ^= 1
        let file = WrittenFile(name: "f", byteCount: 100, digest: digest)
        #expect(file.change(in: ByteView(bytes)) == nil)
        for other in [changed, bytes + [7], Array(bytes.dropLast()), []] {
            #expect(file.change(in: ByteView(other)) == "f was changed after accelc wrote it")
        }
        let sized = WrittenFile(name: "f", byteCount: 100, digest: nil)
        #expect(sized.change(in: ByteView(changed)) == nil && sized.change(in: ByteView(bytes + [7])) != nil)
        let blob = WrittenFile(
            name: "b", byteCount: large.count, digest: TreeDigest.digest(of: ByteView(large)))
        large[5] ^= 1
        #expect(blob.change(in: ByteView(large)) == nil && blob.change(in: ByteView(large + [7])) != nil)
    }

    @Test("a folder that nobody names has a name that nothing else has, and goes")
    func temporary() throws {
        try withTemporaryFolder { root in
            try write("yours", to: "\(root)/o")
            var first: TemporaryFolder? = try TemporaryFolder(beside: "\(root)/o")
            let second = try TemporaryFolder(beside: "\(root)/o")
            #expect(first?.path != second.path)
            #expect(try Files.list(root).count == 3)
            first = nil
            #expect(try Files.list(root).count == 2)
            withExtendedLifetime(second) {}
        }
    }
}
