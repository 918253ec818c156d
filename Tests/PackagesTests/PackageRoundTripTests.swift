import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelPackages

@Suite("A package comes back as it was written")
struct PackageRoundTripTests {
    @Test(
        "as a folder and as an archive, for every codec", arguments: Codecs.all.map { $0.name })
    func roundTrip(compress: String) throws {
        try withTemporaryFolder { folder in
            let contents = try TinyModel(compress: compress, shapes: ["sequence=4", "sequence=16"]).contents()
            let digest = try PackageWriter.write(contents, to: "\(folder)/tiny.accelpkg")
            #expect(try PackageWriter.archive(contents, to: "\(folder)/tiny.zip") == digest)
            for name in ["tiny.accelpkg", "tiny.zip"] {
                let package = try AcceleratorPackage(at: "\(folder)/\(name)")
                try package.check()
                #expect(package.digest == digest)
                try expect(package, equals: contents)
            }
        }
    }

    private func expect(_ package: AcceleratorPackage, equals contents: PackageContents) throws {
        let (read, written) = (package.graph, contents.graph)
        // Functions as bytes: they hold no `Equatable` operators.
        #expect(try read.encoded() == written.encoded())
        #expect(read.tensors.map(\.name) == written.tensors.map(\.name))
        for (left, right) in zip(read.tensors, written.tensors) {
            #expect(left.codec.specification == right.codec.specification)
            #expect(left.sections == right.sections)
            #expect(left.shape == right.shape && left.elementType == right.elementType)
        }
        let coverage = try package.coverage
        #expect(coverage.map(\.tensor.name) == contents.coverage.map(\.tensor.name))
        #expect(coverage.map(\.distortion) == contents.coverage.map(\.distortion))
        #expect(coverage.map(\.reason) == contents.coverage.map(\.reason))
        #expect(coverage.map(\.readers) == contents.coverage.map(\.readers))
        #expect(coverage.map(\.tensor.sections) == contents.coverage.map(\.tensor.sections))
        #expect(try package.unusedTensors == contents.unusedTensors)
        #expect(package.manifest.provenance == contents.provenance)
        #expect(package.manifest.assetNames == ["1_Pooling/config.json", "config.json"])
        #expect(try package.asset("config.json")?.content == contents.assets[0].content)
        #expect(try package.asset("tokenizer.json") == nil)
    }

    @Test("exponents come back, decompression undoes them, and those that cannot be are rejected")
    func scaled() throws {
        try withTemporaryFolder { folder in
            var contents = try TinyModel(compress: "stored").contents()
            let plain = contents.coverage.map { $0.tensor.floats() }
            // (The functions are those of the weights as they were: nothing runs here.)
            let exponents = (0..<32).map { $0 % 9 - 4 }
            for (index, scaling) in [
                1: ChannelScaling(columns: exponents), 2: ChannelScaling(rows: exponents, columns: exponents),
            ] {
                let tensor = contents.coverage[index].tensor
                let source = StoredTensor(name: tensor.name, floats: tensor.floats(), shape: tensor.shape)
                contents.coverage[index].tensor =
                    try CompressedTensor.compressing(
                        try #require(source.scaled(by: scaling)), with: tensor.codec, threads: 1
                    ).tensor
                contents.coverage[index].scaling = scaling
            }
            contents.graph.tensors = contents.coverage.map(\.tensor)
            let path = "\(folder)/p"
            try PackageWriter.write(contents, to: path)
            let package = try AcceleratorPackage(at: path)
            #expect(package.manifest.optionalFeatures.contains("scaled-channels"))
            #expect(try package.coverage.map(\.scaling) == contents.coverage.map(\.scaling))
            try package.decompress(to: "\(folder)/w.safetensors", as: .float32)
            #expect(try SafetensorsFile("\(folder)/w.safetensors").tensors.map { $0.floats() } == plain)

            let map = try MappedFile("\(path)/source-map.json").bytes.array
            let text = String(decoding: map, as: UTF8.self)
            let known = try PackageTables(
                weights: try MappedFile("\(path)/weights.bin").bytes, blobs: package.blobs, file: "p")
            for (old, new, reason) in [
                (#""scaledRows":[-4,"#, #""scaledRows":[-33,"#, "-33 is outside of -32...32"),
                (#""scaledRows":[-4,"#, #""scaledRows":["#, "expected 32 exponents for a tensor of [32,32], found 31"),
                (#""scaledColumns":[-4,"#, #""scaledColumns":[0,-4,"#, "expected 32 exponents"),
                (#""scaledColumns":[-4,"#, #""scaledColumns":[4.5,"#, "integer"),
            ] {
                let changed = try #require(text.range(of: old).map { text.replacingCharacters(in: $0, with: new) })
                let error = try #require(throws: FormatError.self) {
                    try known.check(sourceMap: ByteView(Array(changed.utf8)), file: "p")
                }
                #expect(error.reason.contains(reason), "\(error)")
            }
        }
    }

    @Test("how tensors were made of the checkpoint's comes back, and decompressing makes those again")
    func origins() throws {
        try withTemporaryFolder { folder in
            var contents = try TinyModel(compress: "float32").contents()
            let squares = contents.coverage.indices.filter { contents.coverage[$0].tensor.shape == [32, 32] }
            let (first, second) = (try #require(squares.first), try #require(squares.dropFirst().first))
            contents.coverage[first].derivation = Derivation(
                rule: .reshape, sources: [.init(name: "patches", elementType: .float32, shape: [32, 2, 4, 4])])
            contents.coverage[second].derivation = Derivation(
                rule: .weightNorm,
                sources: [
                    .init(name: "g", elementType: .float16, shape: [32, 1]),
                    .init(name: "v", elementType: .float16, shape: [32, 32]),
                ])
            contents.coverage[0].copies = ["head"]
            contents.keptTensors = [StoredTensor(name: "table", floats: [0.1, 3], shape: [2])]
            let path = "\(folder)/p"
            try PackageWriter.write(contents, to: path)
            let package = try AcceleratorPackage(at: path)
            #expect(package.manifest.optionalFeatures.contains("origins"))
            let map = try package.sourceMap()
            #expect(map.coverage.map(\.derivation) == contents.coverage.map(\.derivation))
            #expect(map.coverage[0].copies == ["head"] && map.keptTensors.map { $0.floats() } == [[0.1, 3]])
            let text = String(decoding: try MappedFile("\(path)/source-map.json").bytes.array, as: UTF8.self)
            let schema = try JSONSchema(named: "source-map.schema.json")
            #expect(schema.violations(of: try JSON.read("\(path)/source-map.json")) == [])

            let names = try package.decompress(to: "\(folder)/w.safetensors", as: .float32)
            let written = Dictionary(
                uniqueKeysWithValues: try SafetensorsFile("\(folder)/w.safetensors").tensors.map { ($0.name, $0) })
            #expect(Set(names) == Set(written.keys) && names.count == contents.coverage.count + 3)
            #expect(written["patches"]?.shape == [32, 2, 4, 4])
            #expect(written["patches"]?.floats() == contents.coverage[first].tensor.floats())
            #expect(written["v"]?.floats() == contents.coverage[second].tensor.floats())
            #expect(written["g"]?.shape == [32, 1] && written["table"]?.floats() == [0.1, 3])
            #expect(written["head"]?.floats() == contents.coverage[0].tensor.floats())

            let known = try PackageTables(
                weights: try MappedFile("\(path)/weights.bin").bytes, blobs: package.blobs, file: "p")
            for (old, new, reason) in [
                (#""rule":"reshape""#, #""rule":"turn""#, "\"turn\" is not known"),
                ("[32,2,4,4]", "[32,2,4,5]", "expected one tensor of 1024 elements"),
                ("[32,2,4,4]", "[281474976710656,281474976710656]", "too large"),
                (#""shape":[32,1]"#, #""shape":[31,1]"#, "expected lengths and directions"),
                (#""copies":["head"]"#, #""copies":["patches"]"#, "listed twice"),
                (#""copies":["head"]"#, #""copies":[1]"#, "expected a string"),
                (#""values":["#, #""values":[7,"#, "found 3"),
            ] {
                let changed = try #require(
                    text.range(of: old).map { text.replacingCharacters(in: $0, with: new) }, "\(old)")
                let error = try #require(throws: FormatError.self) {
                    try known.check(sourceMap: ByteView(Array(changed.utf8)), file: "p")
                }
                #expect(error.reason.contains(reason), "\(error)")
            }
        }
    }

    @Test("equal contents give equal bytes, with any number of threads, as folder and as archive")
    func deterministic() throws {
        try withTemporaryFolder { folder in
            for (name, threads) in [("a", 1), ("b", 2), ("c", 5)] {
                let contents = try TinyModel().contents(threads: threads)
                try PackageWriter.write(contents, to: "\(folder)/\(name)")
                try PackageWriter.archive(contents, to: "\(folder)/\(name).zip")
            }
            let first = try files(in: "\(folder)/a")
            #expect(try files(in: "\(folder)/b") == first)
            #expect(try files(in: "\(folder)/c") == first)
            let archive = try MappedFile("\(folder)/a.zip").bytes
            #expect(try MappedFile("\(folder)/c.zip").bytes == archive)
            #expect(try Files.list(folder) == ["a", "a.zip", "b", "b.zip", "c", "c.zip"])
        }
    }

    @Test("equal tensors are stored once, and sections start on multiples of 64 bytes of blobs that start on pages")
    func layout() throws {
        try withTemporaryFolder { folder in
            try PackageWriter.write(try TinyModel(compress: "float32").contents(), to: "\(folder)/p")
            let package = try AcceleratorPackage(at: "\(folder)/p")
            let weights = package.graph.tensors
            #expect(
                weights.first { $0.name == "first.weight" }?.sections
                    == weights.first { $0.name == "second.weight" }?.sections)
            #expect(package.sections.count == 3)
            #expect(package.manifest.blobs.map(\.byteCount) == [4 * (48 * 32 + 32 + 32 * 32)])
            for weight in weights {
                for section in weight.sections {
                    let address = section.withBytes { UInt(bitPattern: $0.baseAddress) }
                    #expect(address % 64 == 0)
                }
            }
        }
    }

    @Test("blobs are split where they would become too large, and a larger section has one of its own")
    func blobs() throws {
        try withTemporaryFolder { folder in
            let contents = try TinyModel(compress: "float32").contents()
            let target = try AtomicFolder(replacing: "\(folder)/p", as: .internal)
            _ = try PackageWriter.write(contents, into: target.path, maximumBlobBytes: 4300)
            try target.commit()
            let package = try AcceleratorPackage(at: "\(folder)/p")
            #expect(package.manifest.blobs.map(\.name) == ["weights-0000.bin", "weights-0001.bin"])
            #expect(package.manifest.blobs.map(\.byteCount) == [6144, 4224])
            try package.check()
            try expect(package, equals: contents)
        }
    }

    @Test("opening touches no byte of the weights, however many there are")
    func openingCost() async throws {
        await #expect(processExitsWith: .success) {
            try withTemporaryFolder { folder in
                var opened: [[String]] = []
                for rows in [48, 4800] {
                    try PackageWriter.write(try TinyModel(rows: rows).contents(), to: "\(folder)/\(rows)")
                    let files = GuardedFiles(PackageFolder(path: "\(folder)/\(rows)"))
                    let package = try AcceleratorPackage(files)
                    try require(package.graph.tensors.count == 4)
                    opened.append(files.opened)
                }
                try require(opened[0] == opened[1])
            }
        }
    }

    @Test("a report belongs to its package, and is not a part of it")
    func report() throws {
        try withTemporaryFolder { folder in
            try PackageWriter.write(try TinyModel().contents(), to: "\(folder)/a")
            try PackageWriter.write(try TinyModel(seed: 2).contents(), to: "\(folder)/b")
            let (a, b) = (try AcceleratorPackage(at: "\(folder)/a"), try AcceleratorPackage(at: "\(folder)/b"))
            #expect(try a.report == nil)
            try a.store(report: ["sqnr": 60.5])
            #expect(try a.report == ["sqnr": 60.5])
            try AcceleratorPackage(at: "\(folder)/a").check()
            try FileManager.default.copyItem(atPath: "\(folder)/a/verify.json", toPath: "\(folder)/b/verify.json")
            let error = try #require(throws: FormatError.self) { try b.report }
            #expect(error.reason.contains("this report is of the package \(a.digest)"))
            #expect(throws: FormatError.self) { try b.check() }
            // Where a new one is on its way, the old one is nobody's.
            try b.check(includesReport: false)
            try b.store(report: ["sqnr": 1.5])
            try b.check()
        }
    }
}

private struct Unexpected: Error {}

private func require(_ condition: Bool) throws {
    if !condition { throw Unexpected() }
}

/// Files whose weights end the process when they are touched.
private final class GuardedFiles: PackageFiles, @unchecked Sendable {
    private final class Pages {
        let start: UnsafeMutableRawPointer?
        init(count: Int) { start = mmap(nil, max(count, 1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) }
    }
    private let folder: PackageFolder
    private(set) var opened: [String] = []

    init(_ folder: PackageFolder) { self.folder = folder }
    var path: String { folder.path }
    func names() throws -> [String] { try folder.names() }
    func content(_ name: String) throws -> ByteView {
        opened.append(name)
        let content = try folder.content(name)
        guard name.hasPrefix("weights-") else { return content }
        let pages = Pages(count: content.count)
        guard let start = pages.start else { throw Unexpected() }
        return ByteView(owner: pages, start: UnsafeRawPointer(start), count: content.count)
    }
}
