import Foundation
import TestSupport
import Testing

@testable import AccelByteIO

/// A file that begins with "mine".
private let kind = OutputKind.file("a test's file") { path in
    let isMine = try MappedFile(path).bytes.withBytes { $0.starts(with: Array("mine".utf8)) }
    return isMine ? nil : "it does not begin with mine"
}

@Suite("what killed processes leave behind")
struct AbandonedPathTests {
    private func write(_ text: String, to path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }

    /// Makes an entry with a temporary name that no process holds, as a killed one leaves it.
    private func abandon(_ role: TemporaryName.Role = .draft, beside path: String, isFolder: Bool = false) throws
        -> String
    {
        let entry = try TemporaryPaths.sibling(of: path, role)
        if isFolder {
            try Files.makeFolder(Files.parentFolder(of: path) ?? "/")
            guard mkdir(entry, 0o700) == 0 else { throw CocoaError(.fileWriteUnknown) }
            try write("half", to: "\(entry)/file")
        } else {
            try write("half", to: entry)
        }
        return entry
    }

    @Test("the next output of the name removes them, and nothing else", arguments: [false, true])
    func next(isFolder: Bool) throws {
        try withTemporaryFolder { folder in
            let output = "\(folder)/model"
            let left = [
                try abandon(beside: output), try abandon(beside: output, isFolder: true),
                try abandon(beside: "\(folder)/\(TemporaryPaths.unnamed)"),
            ]
            let other = try abandon(beside: "\(folder)/other", isFolder: true)
            // Of this process, and so of one that lives.
            let living = try TemporaryFolder(beside: "\(folder)/model")
            var file = try AtomicFile(replacing: output, as: kind)
            try file.write("mine")
            // Names of users, of earlier versions, and of another checksum.
            let digits = String(Files.name(of: left[0]).dropFirst(".model.".count).dropLast(".partial".count))
            #expect(digits.count == 40)
            let swapped = (digits.hasSuffix("0") ? "1" : "0")
            let users = [
                ".model.partial", ".model.notes.partial", ".model.0123456789abcdef.partial", ".model.bak",
                ".model.\(digits.dropLast())\(swapped).partial", ".models.\(digits).partial",
                ".model.\(String(repeating: "0", count: 40)).partial",
            ].map { "\(folder)/\($0)" }
            for path in users {
                try Files.makeFolder(path.hasSuffix(".bak") ? path : folder)
                guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw CocoaError(.fileWriteUnknown) }
                try write("yours", to: "\(path)/file")
            }
            if isFolder {
                _ = try TemporaryFolder(beside: "\(folder)/model/")
            } else {
                try AtomicFile.write("mine", to: output, as: kind)
            }
            for path in left { #expect(Files.kindWithoutFollowing(path) == nil, "\(path)") }
            for path in users { #expect(Files.kind(of: "\(path)/file") == .file, "\(path)") }
            #expect(Files.kind(of: other) == .folder && Files.kind(of: living.path) == .folder)
            try file.commit()
            // Once it is not held any more, the other output's folder goes, too.
            TemporaryPaths.removeAbandoned(beside: "\(folder)/other")
            #expect(Files.kindWithoutFollowing(other) == nil)
            withExtendedLifetime(living) {}
        }
    }

    @Test("what may be another program's, because it was moved away to be replaced, stays; an earlier output goes")
    func replaced() throws {
        try withTemporaryFolder { folder in
            let output = "\(folder)/o"
            let (mine, yours) = (try abandon(.replaced, beside: output), try abandon(.replaced, beside: output))
            try write("mine", to: mine)
            try write("yours", to: yours)
            // The only copy, as long as nothing has the name.
            TemporaryPaths.removeAbandoned(beside: output, kind: kind)
            #expect(Files.kind(of: mine) == .file && Files.kind(of: yours) == .file)
            try write("mine", to: output)
            TemporaryPaths.removeAbandoned(beside: output)
            #expect(Files.kind(of: mine) == .file && Files.kind(of: yours) == .file)
            TemporaryPaths.removeAbandoned(beside: output, kind: kind)
            #expect(Files.kindWithoutFollowing(mine) == nil && Files.kind(of: yours) == .file)
        }
    }

    @Test("names of another machine stay, also without a lock")
    func machines() throws {
        try withTemporaryFolder { folder in
            let path = try abandon(beside: "\(folder)/o")
            let parts = try #require(TemporaryName.Parts(Files.name(of: path)))
            #expect(parts.role == .draft && parts.isOfThisMachine)
            let digits = Files.name(of: path).dropFirst(3).dropLast(8)
            // The same start, random digits and role, with other tags.
            let facts = "\(digits.prefix(16))\(String(repeating: "7", count: 16))"
            let check = SHA256.digest(of: "accelc draft o.\(facts)").description.prefix(8)
            let name = ".o.\(facts)\(check).partial"
            let strange = try #require(TemporaryName.Parts(name))
            #expect(strange.role == .draft && !strange.isOfThisMachine)
            try write("half", to: "\(folder)/\(name)")
            TemporaryPaths.removeAbandoned(beside: "\(folder)/o")
            #expect(try Files.list(folder) == [name])
            #expect(!TemporaryPaths.removeIfAbandoned("\(folder)/\(name)"))
        }
    }

    @Test("while many make outputs of one name, none loses what it makes, and what killed ones left goes")
    func race() throws {
        try withTemporaryFolder { folder in
            let output = "\(folder)/o"
            let failures = Locked<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                for round in 0..<50 {
                    do {
                        let draft = try TemporaryFolder(beside: output)
                        try write("x", to: "\(draft.path)/file")
                        // Another thread may remove it while it is made: nobody holds it.
                        if round % 10 == 0 { _ = try? abandon(beside: output, isFolder: true) }
                        var file = try AtomicFile(replacing: output, as: kind)
                        try file.write("mine")
                        guard Files.kind(of: "\(draft.path)/file") == .file else { throw CocoaError(.fileNoSuchFile) }
                        try file.commit()
                    } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                }
            }
            #expect(failures.withLock { $0 } == [])
            TemporaryPaths.removeAbandoned(beside: output, kind: kind)
            let names = try Files.list(folder)
            #expect(names == ["o"])
        }
    }

    #if os(Linux)
        /// A process of its own is killed between two steps of a replacement; the next one finds a complete output, and cleans up.
        @Test(
            "killed at every step of a replacement: an output stays, and the next one leaves nothing else",
            arguments: 0..<6)
        func steps(step: Int) async throws {
            let folder = FileManager.default.temporaryDirectory.path + "/accelc-killed-\(getpid())-\(step)"
            try Files.makeFolder(folder)
            defer { try? Files.removeTree(folder) }
            try write("mine, old", to: "\(folder)/o")
            await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String, step = step as Int] in
                let count = Locked(0)
                try Disk.observing(folder) { event in
                    if count.withLock({ (count: inout Int) -> Bool in
                        count += 1
                        return count > step
                    }) {
                        kill(getpid(), SIGKILL)
                    }
                    _ = event
                } during: {
                    for _ in 0..<2 { try AtomicFile.write("mine, new", to: "\(folder)/o", as: kind) }
                }
            }
            let names = try Files.list(folder)
            #expect(names.contains("o"))
            #expect(try MappedFile("\(folder)/o").bytes.withBytes { $0.starts(with: Array("mine, ".utf8)) })
            try AtomicFile.write("mine, again", to: "\(folder)/o", as: kind)
            #expect(try Files.list(folder) == ["o"], "after \(names)")
        }
    #endif
}
