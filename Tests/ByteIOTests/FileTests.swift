import Foundation
import TestSupport
import Testing

@testable import AccelByteIO

private func text(of path: String) throws -> String {
    try MappedFile(path).bytes.withBytes { String(decoding: $0, as: UTF8.self) }
}

@Suite("files")
struct FileTests {
    @Test("a mapped file shows its bytes, an empty one has none")
    func mapping() throws {
        try withTemporaryFolder { folder in
            try Data("hello".utf8).write(to: URL(filePath: "\(folder)/a"))
            try Data().write(to: URL(filePath: "\(folder)/empty"))
            #expect(try text(of: "\(folder)/a") == "hello")
            let empty = try MappedFile("\(folder)/empty")
            #expect(empty.bytes.isEmpty && empty.identity.size == 0)
            #expect(try MappedFile("\(folder)/a").identity == Files.identity(of: "\(folder)/a"))
        }
    }

    #if os(Linux)
        @Test("a folder that cannot be made is rejected for what is wrong, and not for being missing")
        func rejectedFolder() {
            // Nobody makes folders here, and what is asked afterwards says that there is none.
            let error = #expect(throws: RequestError.self) { try Files.makeFolder("/sys/accelc/inner") }
            #expect(error?.description.contains("cannot make the folder /sys/accelc: ") == true)
            #expect(error?.description.contains("No such file") == false, "\(error?.description ?? "")")
        }
    #endif

    @Test("bytes stay valid after the file object is gone")
    func lifetime() throws {
        try withTemporaryFolder { folder in
            try Data("hello".utf8).write(to: URL(filePath: "\(folder)/a"))
            let view = try MappedFile("\(folder)/a").bytes[1..<4]
            #expect(view == ByteView(Array("ell".utf8)))
        }
    }

    @Test("pipes, devices and folders are rejected at once, what is missing is unavailable")
    func noFiles() throws {
        try withTemporaryFolder { folder in
            let pipe = "\(folder)/pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            for (path, kind) in [(pipe, "a pipe"), ("/dev/zero", "a device"), (folder, "a folder")] {
                let error = #expect(throws: FormatError.self) { try MappedFile(path) }
                #expect(error == FormatError(file: path, reason: "expected a regular file, found \(kind)"))
            }
            try FileManager.default.createSymbolicLink(atPath: "\(folder)/loop", withDestinationPath: "loop")
            for name in ["nothing", "loop"] {
                let error = #expect(throws: RequestError.self) { try MappedFile("\(folder)/\(name)") }
                #expect(error?.exitStatus == .unavailable)
            }
        }
    }

    @Test("a link that leads to nothing is named with its end, wherever it stands in a path")
    func brokenLinks() throws {
        try withTemporaryFolder { folder in
            for (name, target) in [
                ("loop", "loop"), ("one", "two"), ("two", "sub/three"), ("far", "/nowhere/x"), ("sound", "."),
            ] {
                try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: target)
            }
            let cases = [
                ("loop", "loop is a link to loop, and the links lead in a circle"),
                ("one", "one is a link to sub/three, which does not exist"),
                ("one/x/y", "one is a link to sub/three, which does not exist"),
                ("sound/two/", "sound/two/ is a link to sound/sub/three, which does not exist"),
            ]
            for (name, sentence) in cases {
                let said = Files.brokenLink("\(folder)/\(name)")
                #expect(said?.replacing("\(folder)/", with: "") == sentence)
            }
            #expect(
                Files.brokenLink("\(folder)/far/a") == "\(folder)/far is a link to /nowhere/x, which does not exist")
            for name in ["nothing", "sound", "sound/nothing/x"] {
                #expect(Files.brokenLink("\(folder)/\(name)") == nil)
            }
            let error = #expect(throws: RequestError.self) { try MappedFile("\(folder)/far") }
            #expect(error?.description == "\(folder)/far is a link to /nowhere/x, which does not exist")
        }
    }

    @Test("an atomic file appears whole, replaces the old one, and leaves nothing else")
    func atomicFile() throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/a"
            for round in ["first", "second"] {
                var file = try AtomicFile(replacing: path, as: .internal)
                try file.write(round)
                try file.pad(to: 16)
                #expect(file.count == 16)
                try file.write(ByteView([UInt8](repeating: 65, count: 600_000)))
                try file.write("end")
                #expect(file.count == 600_019)
                #expect(Files.kind(of: path) == (round == "first" ? nil : .file))
                try file.commit()
                let written = try text(of: path)
                #expect(written.hasPrefix("\(round)\0") && written.hasSuffix("AAAend") && written.utf8.count == 600_019)
            }
            let names = try Files.list(folder)
            #expect(names == ["a"])
        }
    }

    @Test(
        "what is written past the page cache is what was written, at every size, also while mapped, and so is its digest"
    )
    func directFile() throws {
        // A file system in memory may not offer it: then the page cache is gone through.
        for root in [nil, "/dev/shm"].filter({ $0.map { Files.kind(of: $0) == .folder } ?? true }) {
            try withTemporaryFolder(in: root) { folder in
                var random = SeededGenerator(seed: 3)
                var expected: [UInt8] = []
                var file = try AtomicFile(
                    replacing: "\(folder)/a", as: .internal, cachedBytes: 10_000, isListed: true)
                for size in [9_999, 1, 1, 4_095, 5, 4_096, 0, 8_192, 6_000_000, 100, 4_194_304, 12_345_678, 77] {
                    let part = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
                    expected += part
                    try file.write(ByteView(part))
                    #expect(file.count == expected.count)
                    if size % 2 == 1 { #expect(try file.mapped() == ByteView(expected)) }
                }
                let early = try file.mapped()
                try file.write("end")
                let digest = try file.commitListed()
                #expect(early == ByteView(expected))
                let content = try MappedFile("\(folder)/a").bytes
                #expect(content == ByteView(expected + Array("end".utf8)))
                #expect(digest == TreeDigest.digest(of: content))
            }
        }
    }

    @Test("without commit the old file stays and the temporary one goes")
    func abandoned() throws {
        try withTemporaryFolder { folder in
            try Data("old".utf8).write(to: URL(filePath: "\(folder)/a"))
            do {
                var file = try AtomicFile(replacing: "\(folder)/a", as: .internal)
                try file.write("new")
                let during = try Files.list(folder)
                #expect(during.count == 2)
            }
            let names = try Files.list(folder)
            #expect(names == ["a"])
            #expect(try text(of: "\(folder)/a") == "old")
        }
    }

    @Test("an atomic folder replaces the old one as a whole")
    func atomicFolder() throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/out"
            for name in ["first", "second"] {
                let target = try AtomicFolder(replacing: path + "/", as: .internal)
                try Files.makeFolder("\(target.path)/deep/er")
                try Data(name.utf8).write(to: URL(filePath: "\(target.path)/deep/er/\(name)"))
                try target.commit()
                let names = try Files.list("\(path)/deep/er")
                #expect(names == [name])
            }
            do {
                let target = try AtomicFolder(replacing: path, as: .internal)
                try Files.makeFolder("\(target.path)/third")
            }
            let names = try Files.list(path)
            let all = try Files.list(folder)
            #expect(names == ["deep"] && all == ["out"])
        }
    }

    @Test("an interrupted tool can remove all that is half-written")
    func interrupted() async {
        // In a process of its own: the files of tests that run beside this one must stay.
        await #expect(processExitsWith: .success) {
            try withTemporaryFolder { folder in
                var file = try AtomicFile(replacing: "\(folder)/file", as: .internal)
                try file.write("half")
                let target = try AtomicFolder(replacing: "\(folder)/folder", as: .internal)
                try Files.makeFolder("\(target.path)/inner")
                guard try Files.list(folder).count == 2 else { exit(1) }
                TemporaryPaths.removeAll()
                guard try Files.list(folder).isEmpty else { exit(2) }
            }
        }
    }

    @Test("a temporary folder that an interruption has removed is not made again")
    func interruptedFolders() async {
        await #expect(processExitsWith: .success) {
            try withTemporaryFolder { folder in
                let target = try AtomicFolder(replacing: "\(folder)/folder", as: .internal)
                try Files.makeFolder("\(target.path)/before")
                TemporaryPaths.removeAll()
                for name in ["", "/inner", "/deep/er"] {
                    do {
                        try Files.makeFolder(target.path + name)
                        exit(1)
                    } catch {
                        guard (error as? RequestError)?.exitStatus == .unavailable else { exit(2) }
                    }
                }
                guard try Files.list(folder).isEmpty else { exit(3) }
            }
        }
    }

    @Test("a read of a lost page ends the process, even if no thread reports it")
    func unreportedPage() async {
        await #expect(processExitsWith: .exitCode(4)) {
            try withTemporaryFolder { folder in
                guard LostPages.report() != nil else { exit(1) }
                try Data(repeating: 1, count: 1 << 16).write(to: URL(filePath: "\(folder)/a"))
                let bytes = try MappedFile("\(folder)/a").bytes
                guard truncate("\(folder)/a", 0) == 0 else { exit(2) }
                exit(bytes.withBytes { $0[1 << 15] } == 1 ? 3 : 0)
            }
        }
    }

    #if os(Linux)
        @Test("a file that grows too large is an error, also past the page cache, and nothing of it is left")
        func limited() async {
            // In a process of its own: the limit is the process's.
            await #expect(processExitsWith: .success) {
                try withTemporaryFolder { folder in
                    signal(SIGXFSZ, SIG_IGN)
                    for (limit, cachedBytes) in [(5000, nil), (1_000_000, nil), (5000, 10_000), (9_000_001, 10_000)] {
                        var limits = rlimit(rlim_cur: rlim_t(limit), rlim_max: .max)
                        guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits) == 0 else { exit(1) }
                        do {
                            var file = try AtomicFile(replacing: "\(folder)/a", as: .internal, cachedBytes: cachedBytes)
                            for _ in 0..<300 { try file.write(ByteView([UInt8](repeating: 1, count: 99_999))) }
                            try file.commit()
                            exit(2)
                        } catch let error as RequestError {
                            guard error.exitStatus == .unavailable, error.description.contains("File too large") else {
                                exit(3)
                            }
                        }
                        guard try Files.list(folder).isEmpty else { exit(4) }
                    }
                }
            }
        }
    #endif

    @Test(
        "outputs that name no new file are rejected",
        arguments: ["", "/", ".", "..", "x/..", "/dev/null", "/no/such/folder/x"])
    func rejectedOutputs(path: String) {
        #expect(throws: RequestError.self) { _ = try AtomicFile(replacing: path, as: .internal) }
        #expect(throws: RequestError.self) { _ = try AtomicFolder(replacing: path, as: .internal) }
    }

    @Test("trees are removed without following links")
    func removal() throws {
        try withTemporaryFolder { folder in
            try Files.makeFolder("\(folder)/tree/inner")
            try Files.makeFolder("\(folder)/kept")
            try Data("x".utf8).write(to: URL(filePath: "\(folder)/kept/file"))
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder)/tree/link", withDestinationPath: "\(folder)/kept")
            try Files.removeTree("\(folder)/tree")
            try Files.removeTree("\(folder)/tree")
            let names = try Files.list(folder)
            #expect(names == ["kept"])
            #expect(Files.kind(of: "\(folder)/kept/file") == .file)
        }
    }

    @Test(
        "paths come apart",
        arguments: [("a/b/c", "a/b", "c"), ("/a", "/", "a"), ("a", ".", "a"), ("a//", ".", "a"), ("a//b", "a", "b")])
    func paths(path: String, parent: String, name: String) {
        #expect(Files.parentFolder(of: path) == parent)
        #expect(Files.name(of: path) == name)
    }
}

@Suite("digests and binary data")
struct DigestTests {
    @Test(
        "SHA-256 gives the standard's digests",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func standard(text: String, digest: String) {
        #expect(SHA256.digest(of: text).description == digest)
        #expect(Digest(hexadecimal: digest) == SHA256.digest(of: text))
    }

    @Test("a digest does not depend on how the bytes are cut", arguments: 0..<200)
    func parts(count: Int) {
        let view = ByteView((0..<count).map { UInt8($0) })
        var hash = SHA256()
        var start = 0
        while start < count {
            let end = min(count, start + 1 + (start * 7) % 65)
            view[start..<end].withBytes { hash.update($0) }
            start = end
        }
        #expect(hash.finalize() == SHA256.digest(of: view))
    }

    @Test("a million letters a")
    func million() {
        let digest = SHA256.digest(of: ByteView([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)))
        #expect(digest.description == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test(
        "hexadecimal digits of another form are no digest",
        arguments: [
            "", "ab", String(repeating: "A", count: 64), String(repeating: "g", count: 64),
            String(repeating: "é", count: 32),
        ])
    func malformed(text: String) {
        #expect(Digest(hexadecimal: text) == nil)
    }

    @Test("binary data reads back, and never past its end")
    func readerAndWriter() throws {
        var writer = ByteWriter()
        writer.append(UInt16(0x1234))
        writer.append(Int64(-2))
        writer.append("é")
        writer.pad(to: 8)
        writer.append(UInt64.max)
        #expect(writer.bytes[..<2] == [0x34, 0x12] && writer.count == 24)
        var reader = ByteReader(ByteView(writer.bytes), file: "f", origin: 10)
        #expect(try reader.integer(UInt16.self) == 0x1234)
        #expect(try reader.integer(Int64.self) == -2)
        #expect(try reader.text(2) == "é")
        #expect(try reader.bytes(4) == ByteView([UInt8](repeating: 0, count: 4)))
        let large = #expect(throws: FormatError.self) { try reader.natural("the count", in: 0...9) }
        #expect(large?.location == .offset(26) && large?.reason == "the count is 18446744073709551615, expected 0...9")
        #expect(reader.isAtEnd)
        #expect(throws: FormatError.self) { try reader.integer(UInt8.self) }
        #expect(throws: FormatError.self) { try reader.bytes(-1) }
        #expect(throws: FormatError.self) { try reader.bytes(Int.max) }
    }
}
