import AccelByteIO
import TestSupport
import Testing

@testable import AccelPackages

/// The files of a package in memory.
struct PackageInMemory: PackageFiles {
    var path = "p"
    var contents: [String: ByteView]

    func names() throws -> [String] { contents.keys.sorted() }
    func content(_ name: String) throws -> ByteView {
        guard let content = contents[name] else { throw FormatError(file: describe(name), reason: "is missing") }
        return content
    }

    /// What is wrong with a package, read to the last byte; nil when nothing is.
    static func flaw(_ files: any PackageFiles) throws -> FormatError? {
        do {
            try AcceleratorPackage(files).check()
            return nil
        } catch let error as FormatError {
            return error
        }
    }
}

@Suite("Every byte of a package is under a digest")
struct IntegrityTests {
    private func withPackage(_ body: (String) throws -> Void) throws {
        try withTemporaryFolder { folder in
            try PackageWriter.write(try TinyModel(width: 8, rows: 5).contents(), to: "\(folder)/p")
            try AcceleratorPackage(at: "\(folder)/p").store(report: ["passed": true, "figures": [1.5, 2]])
            try body("\(folder)/p")
        }
    }

    @Test("any change of any byte of any file of a folder is found: each byte with a bit flipped, in turn")
    func folder() throws {
        try withPackage { path in
            let whole = PackageInMemory(contents: try files(in: path))
            #expect(try PackageInMemory.flaw(whole) == nil)
            #expect(Set(whole.contents.keys).isSuperset(of: ["manifest.json", "verify.json", "weights-0000.bin"]))
            for (name, content) in whole.contents {
                for index in 0..<content.count {
                    var (damaged, bytes) = (whole, content.array)
                    bytes[index] ^= 1 << (index % 8)
                    damaged.contents[name] = ByteView(bytes)
                    #expect(try PackageInMemory.flaw(damaged) != nil, "\(name), byte \(index)")
                }
            }
        }
    }

    @Test("a file that is missing, cut by a byte, or longer by one is found")
    func sizes() throws {
        try withPackage { path in
            let whole = PackageInMemory(contents: try files(in: path))
            for (name, content) in whole.contents {
                for changed in [nil, ByteView(Array(content.array.dropLast())), ByteView(content.array + [0])] {
                    var damaged = whole
                    damaged.contents[name] = changed
                    // Without a report there is nothing to be wrong with it.
                    let isExpected = changed == nil && name == "verify.json"
                    #expect(try PackageInMemory.flaw(damaged) == nil ? isExpected : !isExpected, "\(name)")
                }
            }
            var extra = whole
            extra.contents["extra"] = ByteView([UInt8]())
            #expect(try PackageInMemory.flaw(extra)?.reason.contains("does not list") == true)
        }
    }

    @Test("a bit that is flipped in an archive is found, or stands in what has no meaning: times, versions, attributes")
    func archive() throws {
        try withPackage { path in
            let archive = "\(path).zip"
            try PackageWriter.archive(packageAt: path, to: archive)
            let bytes = try MappedFile(archive).bytes.array
            let original = try AcceleratorPackage(at: archive)
            #expect(try PackageInMemory.flaw(try PackageArchive(archive)) == nil)
            var (unnoticed, index) = (0, 0)
            while index < bytes.count {
                var damaged = bytes
                damaged[index] ^= 1 << (index % 8)
                do {
                    let package = try AcceleratorPackage(try PackageArchive(ByteView(damaged), path: archive))
                    try package.check()
                    // Then the package is the same to the last byte.
                    unnoticed += 1
                    #expect(package.digest == original.digest)
                    #expect(try package.files.names() == original.files.names())
                    for name in try original.files.names() {
                        #expect(try package.files.content(name) == original.files.content(name))
                    }
                } catch is FormatError {}
                // Padding is long and alike.
                index += bytes[index] == 0 && index % 64 != 0 ? 13 : 2
            }
            #expect(unnoticed < 200)
        }
    }

    @Test("names that fall together on some file systems are rejected in a manifest")
    func collisions() throws {
        for (left, right) in [("assets/A", "assets/a"), ("assets/é", "assets/e\u{301}"), ("assets/a", "assets/a/b")] {
            var manifest = try withTemporaryFolder { folder in
                try PackageWriter.write(try TinyModel(width: 8, rows: 5).contents(), to: "\(folder)/p")
                return try AcceleratorPackage(at: "\(folder)/p").manifest
            }
            let digest = SHA256.digest(of: "")
            manifest.files += [left, right].map { Manifest.File(name: $0, byteCount: 0, digest: digest) }
            manifest.files.sort { $0.name < $1.name }
            #expect(throws: FormatError.self, "\(left), \(right)") {
                _ = try Manifest(ByteView(Array(manifest.text.utf8)), file: "manifest.json")
            }
        }
    }
}
