import Foundation
import TestSupport
import Testing

@testable import AccelByteIO

private let text = ByteView(Array(String(repeating: "all work and no play ", count: 500).utf8))
private let noise = ByteView((0..<9000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) })

private func writeSample(_ path: String, largestIn32Bits: Int = 0xFFFF_FFFE) throws {
    var writer = try ZipWriter(replacing: path, as: .internal, largestIn32Bits: largestIn32Bits)
    try writer.append("manifest.json", text, compressed: true)
    try writer.append("weights/0000.bin", noise, compressed: false, alignment: 16384)
    try writer.append("weights/é.bin", noise, compressed: true)
    try writer.append("empty", ByteView([UInt8]()), compressed: false)
    try writer.append("empty.deflated", ByteView([UInt8]()), compressed: true)
    try writer.commit()
}

@Suite("zip archives")
struct ZipTests {
    @Test("what is written reads back equal, stored content aligned in the map", arguments: [0xFFFF_FFFE, 100, 0])
    func roundTrip(largestIn32Bits: Int) throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/a.zip"
            try writeSample(path, largestIn32Bits: largestIn32Bits)
            let archive = try ZipArchive(MappedFile(path))
            #expect(
                archive.entries.map(\.name)
                    == ["manifest.json", "weights/0000.bin", "weights/é.bin", "empty", "empty.deflated"])
            #expect(try archive.content(of: "manifest.json") == text)
            #expect(try archive.content(of: "weights/0000.bin") == noise)
            #expect(try archive.content(of: "weights/é.bin") == noise)
            #expect(try archive.content(of: "empty").isEmpty)
            #expect(try archive.content(of: "empty.deflated").isEmpty)
            #expect(archive["weights/0000.bin"]?.range.lowerBound == 16384)
            #expect(archive.storedBytes(of: "weights/0000.bin") == noise)
            #expect(archive.storedBytes(of: "manifest.json") == nil)
            #expect(throws: FormatError.self) { try archive.content(of: "other") }
        }
    }

    @Test("equal content gives equal bytes")
    func determinism() throws {
        try withTemporaryFolder { folder in
            try writeSample("\(folder)/a.zip")
            try writeSample("\(folder)/b.zip")
            #expect(try MappedFile("\(folder)/a.zip").bytes == MappedFile("\(folder)/b.zip").bytes)
        }
    }

    @Test("an archive of no entries reads back")
    func empty() throws {
        try withTemporaryFolder { folder in
            let writer = try ZipWriter(replacing: "\(folder)/a.zip", as: .internal)
            try writer.commit()
            #expect(try ZipArchive(MappedFile("\(folder)/a.zip")).entries.isEmpty)
        }
    }

    @Test("other tools read our archives", arguments: ["unzip", "python3"], [0xFFFF_FFFE, 100])
    func otherTools(tool: String, largestIn32Bits: Int) throws {
        guard let program = findProgram(tool) else { return }  // not on this machine
        try withTemporaryFolder { folder in
            let path = "\(folder)/a.zip"
            try writeSample(path, largestIn32Bits: largestIn32Bits)
            let script =
                "import sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; assert len(z.read('weights/0000.bin'))==9000"
            let arguments = tool == "unzip" ? ["-tq", path] : ["-c", script, path]
            #expect(try run(program, arguments) == 0)
        }
    }

    @Test("python's archives are read", arguments: ["zipfile.ZIP_STORED", "zipfile.ZIP_DEFLATED"])
    func fromPython(method: String) throws {
        guard let program = findProgram("python3") else { return }  // not on this machine
        try withTemporaryFolder { folder in
            let script = """
                import sys,zipfile
                z=zipfile.ZipFile(sys.argv[1],'w',\(method))
                z.writestr('a/b.txt','hello'*100)
                z.writestr('c.txt','')
                z.mkdir('d') if hasattr(z,'mkdir') else None
                with z.open('streamed','w',force_zip64=True) as f: f.write(b'x'*1000)
                z.close()
                """
            #expect(try run(program, ["-c", script, "\(folder)/a.zip"]) == 0)
            let archive = try ZipArchive(MappedFile("\(folder)/a.zip"))
            #expect(archive.entries.map(\.name) == ["a/b.txt", "c.txt", "streamed"])
            #expect(try archive.content(of: "a/b.txt") == ByteView(Array(String(repeating: "hello", count: 100).utf8)))
            #expect(try archive.content(of: "streamed").count == 1000)
        }
    }

    @Test(
        "names that could leave the folder or fall together are not written",
        arguments: [
            ["../a"], ["/a"], ["a//b"], ["a/./b"], ["c:a"], ["a\\b"], [""], ["a\u{0}"], ["a", "a"], ["a", "A"],
            ["a", "a/b"], ["a/b", "a"], ["\u{E9}", "e\u{301}"],
        ])
    func rejectedNames(names: [String]) throws {
        try withTemporaryFolder { folder in
            #expect(throws: RequestError.self) {
                var writer = try ZipWriter(replacing: "\(folder)/a.zip", as: .internal)
                for name in names { try writer.append(name, text, compressed: false) }
            }
            let left = try Files.list(folder)
            #expect(left.isEmpty)
        }
    }
}
