import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelPackages

/// Each case damages a sound package. None may trap; each is rejected by a `FormatError`.
@Suite("A hostile package is rejected with a sentence")
struct HostilePackageTests {
    private func withPackage(_ body: (String) throws -> Void) throws {
        try withTemporaryFolder { folder in
            try PackageWriter.write(try TinyModel().contents(), to: "\(folder)/p")
            try body("\(folder)/p")
        }
    }

    @Test("any flipped bit of any file is found by the check, and of the small files at opening")
    func flippedBits() throws {
        try withPackage { path in
            var generator = SeededGenerator(seed: 7)
            for (name, content) in try files(in: path) {
                let bytes = content.array
                for _ in 0..<12 where !bytes.isEmpty {
                    var damaged = bytes
                    let index = Int.random(in: bytes.indices, using: &generator)
                    damaged[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                    try write(damaged, to: "\(path)/\(name)")
                    #expect(throws: FormatError.self, "\(name), byte \(index)") {
                        let package = try AcceleratorPackage(at: path)
                        #expect(
                            !["manifest.json", "graph.bin", "weights.bin"].contains(name), "\(name), byte \(index)")
                        try package.check()
                    }
                }
                try write(bytes, to: "\(path)/\(name)")
            }
            try AcceleratorPackage(at: path).check()
        }
    }

    @Test("a byte of a weight that was changed is found with the weight's name, one between two weights with its place")
    func damagedWeights() throws {
        try withPackage { path in
            let bytes = try MappedFile("\(path)/weights-0000.bin").bytes.array
            let sections = try AcceleratorPackage(at: path).sections
            for index in stride(from: 0, to: bytes.count, by: 3) {
                var damaged = bytes
                damaged[index] ^= 1
                try write(damaged, to: "\(path)/weights-0000.bin")
                let package = try AcceleratorPackage(at: path)
                let error = try #require(throws: FormatError.self) { try package.check() }
                let isPadding = !sections.contains { ($0.offset..<$0.offset + $0.byteCount).contains(index) }
                if isPadding {
                    #expect(error.location == .offset(UInt64(index)))
                    #expect(error.reason.hasPrefix("expected a zero between two sections; "))
                    continue
                }
                let named = try #require(package.graph.tensors.first { error.location == .tensor($0.name, index: nil) })
                let start = MemoryRange(package.blobs[0]).start
                #expect(
                    named.sections.contains { section in
                        let offset = Int(MemoryRange(section).start - start)
                        return (offset..<offset + section.count).contains(index)
                    })
            }
        }
    }

    @Test("a manifest that says another digest of a blob than the sections' is rejected at opening")
    func anotherBlob() throws {
        try withPackage { path in
            let digest = try #require(try AcceleratorPackage(at: path).manifest.blobs.first?.digest.description)
            try changeManifest(of: path, digest, SHA256.digest(of: "another").description)
            let error = try #require(throws: FormatError.self) { try AcceleratorPackage(at: path) }
            #expect(error.reason.contains("the digest of weights-0000.bin is not that of the sections"))
        }
    }

    @Test("a file that is shorter, longer, or missing is rejected at opening")
    func sizes() throws {
        try withPackage { path in
            for name in ["manifest.json", "graph.bin", "weights.bin", "weights-0000.bin"] {
                let bytes = try MappedFile("\(path)/\(name)").bytes.array
                for count in [0, 1, bytes.count / 2, bytes.count - 1] {
                    try write(Array(bytes[..<count]), to: "\(path)/\(name)")
                    #expect(throws: FormatError.self, "\(name) of \(count)") { try AcceleratorPackage(at: path) }
                }
                try write(bytes + [0], to: "\(path)/\(name)")
                #expect(throws: FormatError.self, "\(name) longer") { try AcceleratorPackage(at: path) }
                try FileManager.default.removeItem(atPath: "\(path)/\(name)")
                #expect(throws: FormatError.self, "\(name) missing") { try AcceleratorPackage(at: path) }
                try write(bytes, to: "\(path)/\(name)")
            }
        }
    }

    @Test(
        "every truncation and flipped bit of graph.bin is rejected, or means a graph that is written so and can be planned, when its digest is not looked at"
    )
    func damagedGraph() throws {
        try withPackage { path in
            let bytes = try MappedFile("\(path)/graph.bin").bytes.array
            let blob = try MappedFile("\(path)/weights-0000.bin").bytes
            let tables = try PackageTables(
                weights: MappedFile("\(path)/weights.bin").bytes, blobs: [blob], file: "weights.bin")
            try expectOneEncoding(of: bytes) { damaged in
                let graph = try tables.graph(damaged, file: "graph.bin")
                do { try PlanCheck.check(graph.planned()) } catch is RequestError {}
                return try graph.encoded()
            }
        }
    }

    @Test(
        "every truncation and flipped bit of weights.bin is rejected, or means tables that are written so, when its digest is not looked at"
    )
    func damagedWeightIndex() throws {
        try withPackage { path in
            let bytes = try MappedFile("\(path)/weights.bin").bytes.array
            let graph = try MappedFile("\(path)/graph.bin").bytes
            let blob = try MappedFile("\(path)/weights-0000.bin").bytes
            try expectOneEncoding(of: bytes) { damaged in
                let tables = try PackageTables(weights: damaged, blobs: [blob], file: "weights.bin")
                _ = try tables.graph(graph, file: "graph.bin")
                return tables.encoded
            }
        }
    }

    /// Each damaged file is rejected by a `FormatError`, or read as something that is written in these very bytes.
    private func expectOneEncoding(of bytes: [UInt8], _ again: (ByteView) throws -> ByteView) throws {
        #expect(try again(ByteView(bytes)) == ByteView(bytes))
        for count in 0..<bytes.count {
            #expect(throws: FormatError.self) { try again(ByteView(Array(bytes[..<count]))) }
        }
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << bit
                do {
                    let written = try again(ByteView(damaged))
                    if written.array != damaged { Issue.record("byte \(index), bit \(bit) has another encoding") }
                } catch is FormatError {
                } catch {
                    Issue.record("byte \(index), bit \(bit): \(error)")
                }
            }
        }
    }

    @Test(
        "every truncation and flipped bit of the manifest is rejected or means a manifest, when its digest is not looked at"
    )
    func damagedManifest() throws {
        try withPackage { path in
            let bytes = try MappedFile("\(path)/manifest.json").bytes.array
            func parse(_ bytes: [UInt8]) throws {
                let document = try JSON.parse(ByteView(bytes), file: "manifest.json")
                _ = try Manifest(
                    parsing: JSONField(document, file: "manifest.json"), digest: SHA256.digest(of: ""))
            }
            for count in 0..<bytes.count {
                #expect(throws: FormatError.self) { try parse(Array(bytes[..<count])) }
            }
            for index in bytes.indices {
                for bit in 0..<8 {
                    var damaged = bytes
                    damaged[index] ^= 1 << bit
                    do {
                        try parse(damaged)
                    } catch is FormatError {
                    } catch {
                        Issue.record("byte \(index), bit \(bit): \(error)")
                    }
                    #expect(throws: FormatError.self) {
                        let manifest = try Manifest(ByteView(damaged), file: "manifest.json")
                        Issue.record("byte \(index), bit \(bit) of \(manifest.digest)")
                    }
                }
            }
        }
    }

    @Test(
        "every truncation and flipped bit of the source map is rejected or means one, when its digest is not looked at")
    func damagedSourceMap() throws {
        try withPackage { path in
            let bytes = try MappedFile("\(path)/source-map.json").bytes.array
            let package = try AcceleratorPackage(at: path)
            let blob = try MappedFile("\(path)/weights-0000.bin").bytes
            func parse(_ bytes: [UInt8]) throws {
                _ = try SourceMap(ByteView(bytes), file: "source-map.json", known: package.sections) {
                    blob[$0.offset..<$0.offset + $0.byteCount]
                }
            }
            try parse(bytes)
            for count in 0..<bytes.count {
                #expect(throws: FormatError.self) { try parse(Array(bytes[..<count])) }
            }
            for index in bytes.indices {
                for bit in 0..<8 {
                    var damaged = bytes
                    damaged[index] ^= 1 << bit
                    do {
                        try parse(damaged)
                    } catch is FormatError {
                    } catch {
                        Issue.record("byte \(index), bit \(bit): \(error)")
                    }
                }
            }
        }
    }

    @Test("files that the manifest does not list, and links, are rejected by the check")
    func extraFiles() throws {
        try withPackage { path in
            for name in ["extra.bin", "assets/extra.json"] {
                try write([1], to: "\(path)/\(name)")
                let error = try #require(throws: FormatError.self) { try AcceleratorPackage(at: path).check() }
                #expect(error.file.hasSuffix(name))
                try FileManager.default.removeItem(atPath: "\(path)/\(name)")
            }
            // Another run may be about to store its report.
            try write([1], to: "\(path)/.verify.json.1a2b.partial")
            try AcceleratorPackage(at: path).check()
            try OutputKind.package.requireReplaceable(path)
            try FileManager.default.removeItem(atPath: "\(path)/.verify.json.1a2b.partial")
            for name in [
                ".verify.json.1A.partial", "assets/.verify.json.1a.partial", ".manifest.json.1a.partial",
                ".verify.json.1a.partial/file",
            ] {
                try FileManager.default.createDirectory(
                    atPath: Files.parentFolder(of: "\(path)/\(name)") ?? path, withIntermediateDirectories: true)
                try write([1], to: "\(path)/\(name)")
                #expect(throws: FormatError.self, "\(name)") { try AcceleratorPackage(at: path).check() }
                #expect(throws: RequestError.self, "\(name)") { try OutputKind.package.requireReplaceable(path) }
                try FileManager.default.removeItem(atPath: "\(path)/\(name)")
            }
            try FileManager.default.removeItem(atPath: "\(path)/.verify.json.1a.partial")
            try FileManager.default.createSymbolicLink(
                atPath: "\(path)/assets/link", withDestinationPath: "/etc/hostname")
            #expect(throws: FormatError.self) { try AcceleratorPackage(at: path).check() }
            try FileManager.default.removeItem(atPath: "\(path)/assets/link")

            let blob = "\(path)/weights-0000.bin"
            try FileManager.default.moveItem(atPath: blob, toPath: "\(path)/../elsewhere")
            try FileManager.default.createSymbolicLink(atPath: blob, withDestinationPath: "\(path)/../elsewhere")
            let error = try #require(throws: FormatError.self) { try AcceleratorPackage(at: path) }
            #expect(error.reason.contains("symbolic link"))
        }
    }

    /// The manifest with a text replaced and the digest made right again.
    private func changeManifest(of path: String, _ old: String, _ new: String) throws {
        let text = String(decoding: try MappedFile("\(path)/manifest.json").bytes.array, as: UTF8.self)
        let body = "{" + text.dropFirst(77).replacingOccurrences(of: old, with: new)
        #expect("{" + text.dropFirst(77) != body, "\(old) is not in the manifest")
        let digest = SHA256.digest(of: body)
        try write(Array("{\"digest\":\"\(digest)\",\(body.dropFirst())".utf8), to: "\(path)/manifest.json")
    }

    @Test(
        "an unknown required feature and a future major version are rejected by name; optional ones are ignored and listed"
    )
    func versions() throws {
        try withPackage { path in
            try changeManifest(of: path, #""optional":["#, #""optional":["sparkles","#)
            let package = try AcceleratorPackage(at: path)
            #expect(package.manifest.ignoredFeatures == ["sparkles"])
            // A later minor version may have more of them; this one has not.
            let claim = try #require(throws: FormatError.self) { try package.check() }
            #expect(claim.location == .field("features.optional"))
            try changeManifest(of: path, #""minor":0}"#, #""minor":7}"#)
            try AcceleratorPackage(at: path).check()

            try changeManifest(of: path, #""required":["#, #""required":["time-travel","#)
            let missing = try #require(throws: FormatError.self) { try AcceleratorPackage(at: path) }
            #expect(missing.reason.contains(#"needs the feature "time-travel""#))
            #expect(missing.location == .field("features.required"))
        }
        try withPackage { path in
            try changeManifest(of: path, #""major":3"#, #""major":4,"novelty":[]"#)
            try changeManifest(of: path, #""toolVersion":"0.1.0""#, #""toolVersion":"9.0""#)
            let future = try #require(throws: FormatError.self) { try AcceleratorPackage(at: path) }
            #expect(future.reason.contains("has format 4.0"))
            #expect(future.reason.contains("accelc 9.0"))
        }
        try withPackage { path in
            try changeManifest(of: path, #""minor":0}"#, #""minor":7},"novelty":[]"#)
            #expect(try AcceleratorPackage(at: path).manifest.minor == 7)
        }
    }

    @Test("roles that only a later minor version knows are ignored: their ports are opaque")
    func laterRoles() throws {
        try withPackage { path in
            try changeManifest(of: path, #""minor":0}"#, #""minor":1}"#)
            try changeManifest(of: path, #""kind":"tokens""#, #""kind":"tokens-of-a-later-day""#)
            try changeManifest(of: path, #""role":"encode""#, #""role":"dream""#)
            let function = try #require(try AcceleratorPackage(at: path).graph.functions.first)
            let interface = function.program.interface
            #expect(interface.role.rawValue == "dream" && interface.inputs.isEmpty)
            #expect(interface.outputs == ["last_hidden_state": .hiddenStates])
        }
    }

    @Test(
        "what a manifest says of the package's own files is checked, whatever version it says wrote them",
        arguments: [
            (#""exceptions":"#, #""exceptions":1"#, "coverage"), (#""unused":"#, #""unused":1"#, "coverage"),
            (#""tensors":"#, #""tensors":1"#, "coverage"), (#""weights":"#, #""weights":1"#, "coverage"),
            (#","assets"]"#, "]", "features.optional"),
            (#""source-map","#, #""source-map","scaled-channels","#, "features.optional"),
            (#""exceptions":"#, #""novelty":1,"exceptions":"#, "coverage.novelty"),
        ])
    func claims(old: String, new: String, field: String) throws {
        for version in ["0.1.0", "9.0"] {
            try withPackage { path in
                if version != "0.1.0" {
                    try changeManifest(of: path, #""toolVersion":"0.1.0""#, #""toolVersion":"\#(version)""#)
                }
                try AcceleratorPackage(at: path).check()
                try changeManifest(of: path, old, new)
                let error = try #require(throws: FormatError.self) { try AcceleratorPackage(at: path).check() }
                #expect(error.location == .field(field), "\(error)")
            }
        }
    }

    @Test(
        "a manifest that lies is rejected although its digest is right",
        arguments: [
            (#""name":"graph.bin""#, #""name":"../graph.bin""#),
            (#""name":"assets/config.json""#, #""name":"assets/../config.json""#),
            (#""name":"assets/config.json""#, #""name":"verify.json""#),
            (#""name":"weights-0000.bin""#, #""name":"weights-0001.bin""#),
            (#""name":"source-map.json""#, #""name":"graph.bin""#),
            (#""shape":[1,4]"#, #""shape":[1,5]"#),
            (#""state":[]"#, #""state":[{"name":"cache"}]"#),
            (#""part":"model""#, #""part":"encoder""#),
            (#""functions":["#, #""functions":[],"more":["#),
            (#""kind":"tokens""#, #""kind":"token""#),
            (#""kind":"tokens""#, #""kind":"pixels""#),
            (#""vocabulary":48"#, #""vocabulary":-1"#),
            (#""vocabulary":48"#, #""words":48"#),
            (#""vocabulary":48"#, #""vocabulary":48,"count":1"#),
            (#""inputs":{"input_ids""#, #""inputs":{"ids""#),
            (#""role":"encode""#, #""role":"encoder""#),
            (#""links":[]"#, #""links":[{"input":"ids","part":"model","output":"last_hidden_state"}]"#),
            (#""links":[]"#, #""links":[{"input":"input_ids","part":"other","output":"last_hidden_state"}]"#),
            (#""links":[]"#, #""links":[{"input":"input_ids","part":"model","output":"nothing"}]"#),
            (#""interface":"#, #""signature":"#),
        ])
    func lies(old: String, new: String) throws {
        try withPackage { path in
            try changeManifest(of: path, old, new)
            #expect(throws: FormatError.self) { try AcceleratorPackage(at: path) }
        }
    }

    @Test(
        "a name that leaves the folder, or that another system reads otherwise, is rejected where it is read",
        arguments: [
            "assets/../config.json", "assets/./config.json", "assets//config.json", "assets/", #"assets/a\\b"#,
            "assets/c:b", #"assets/a\u0001b"#, #"assets/a\u007fb"#,
        ])
    func unsafeNames(name: String) throws {
        try withPackage { path in
            try changeManifest(of: path, #""name":"assets/config.json""#, #""name":"\#(name)""#)
            let error = try #require(throws: FormatError.self) { try AcceleratorPackage(at: path) }
            #expect(error.location == .field("files[1].name"))
        }
    }

    @Test("files are listed by name, each once, and no two differ in case alone")
    func order() throws {
        try withPackage { path in
            let whole = try MappedFile("\(path)/manifest.json").bytes.array
            let text = String(decoding: whole, as: UTF8.self)
            let list = try #require(text.firstMatch(of: /"files":\[(.*?)\]/)?.1)
            let files = list.matches(of: /\{[^}]*\}/).map { String($0.output) }
            #expect(files.count > 3 && files[1].contains("assets/config.json"))
            let other = files[1].replacingOccurrences(of: "config", with: "CONFIG")
            for (changed, words) in [
                ([files[1], files[0]] + files[2...], "not sorted by name"),
                ([files[0]] + files, "listed twice"), ((files + [other]).sorted(), "differs from another only in case"),
            ] {
                try changeManifest(of: path, String(list), changed.joined(separator: ","))
                let error = try #require(throws: FormatError.self) { try AcceleratorPackage(at: path) }
                #expect(error.location == .field("files") && error.reason.contains(words), "\(error)")
                try write(whole, to: "\(path)/manifest.json")
            }
        }
    }

    @Test("a folder, file, or archive that is no package is rejected")
    func noPackage() throws {
        try withTemporaryFolder { folder in
            #expect(throws: FormatError.self) { try AcceleratorPackage(at: folder) }
            #expect(throws: RequestError.self) { try AcceleratorPackage(at: "\(folder)/nothing") }
            try write(Array("hello".utf8), to: "\(folder)/file")
            #expect(throws: FormatError.self) { try AcceleratorPackage(at: "\(folder)/file") }
        }
    }
}
