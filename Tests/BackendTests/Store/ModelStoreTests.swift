import Accel
import AccelByteIO
import Foundation
import TestSupport
import Testing

@Suite("A store of models")
struct ModelStoreTests {
    @Test("what was put in is listed, opened and removed, and nothing else is left")
    func contents() async throws {
        let bench = try StoreBench()
        let store = try bench.store()
        let empty = try bench.entries()
        #expect(try await store.list() == [])
        #expect(await !store.contains("m"))
        let digest = try NumberedModel(3).write(to: "\(bench.folder)/3.accelpkg")
        let stored = try await store.update(from: "\(bench.folder)/3.accelpkg")
        #expect(stored.version == digest && stored.earlier == [] && stored.isTentative)
        #expect(try await store.list() == [stored])
        #expect(await store.contains("m"))
        let bytes = try FileManager.default.subpathsOfDirectory(atPath: "\(bench.folder)/3.accelpkg").reduce(0) {
            $0 + Int(Files.identity(of: "\(bench.folder)/3.accelpkg/\($1)")?.size ?? 0)
        }
        #expect(try await store.size() == bytes)
        #expect(try await store.path(of: "m") == stored.path)
        // The package is a copy: whoever writes to the original changes nothing here.
        #expect(try AcceleratorPackage(at: stored.path).digest == digest)
        #expect(try await StoreBench.number(in: store) == 3)
        #expect(try await !store.model("m").isTentative)
        try await store.remove("m")
        #expect(try bench.entries() == empty)
        let error = await #expect(throws: AccelError.self) { try await store.model("n") }
        #expect(error?.code == .notFound)
    }

    @Test(
        "names that are no file names everywhere, and twins of other names, are rejected",
        arguments: [
            "", ".", "..", "../m", "../empty", "a/b", ".hidden", "a\\b", "a:b", String(repeating: "a", count: 101), "M",
            "a\u{0}b",
            "a\nb",
        ])
    func names(_ name: String) async throws {
        let bench = try StoreBench()
        let store = try bench.store()
        let path = try bench.package(NumberedModel(1))
        try await store.update(from: path)
        try Files.makeFolder("\(bench.root)/empty")
        let before = try bench.entries()
        let error = await #expect(throws: AccelError.self) {
            try await store.update(name, from: LocalPackage(path)).value
        }
        #expect(error?.code == .invalid)
        #expect(try bench.entries() == before)
        #expect(await !store.contains(name))
    }

    @Test("a folder that something else lives in is no store, and stays as it is")
    func foreignFolders() throws {
        let bench = try StoreBench()
        try Files.makeFolder(bench.root, mode: 0o700)
        try Data("mine".utf8).write(to: URL(filePath: "\(bench.root)/README"))
        #expect(throws: AccelError.self) { try bench.store() }
        #expect(try bench.entries() == ["README"])
        #expect(try String(contentsOfFile: "\(bench.root)/README", encoding: .utf8) == "mine")
        try FileManager.default.removeItem(atPath: "\(bench.root)/README")
        // An empty one becomes a store; one that others may write to does not.
        _ = Files.setMode(0o777, of: bench.root)
        #expect(throws: AccelError.self) { try bench.store() }
        _ = Files.setMode(0o700, of: bench.root)
        _ = try bench.store()
        _ = try bench.store()
        try Data(#"{"accelc":"model-store","layout":9,"min_reader":9}"#.utf8).write(
            to: URL(filePath: "\(bench.root)/store.json"))
        let error = #expect(throws: AccelError.self) { try bench.store() }
        #expect(error?.problem.contains("newer") == true)
    }

    @Test("a version before stays for going back, earlier ones go unless a model of them is open")
    func versions() async throws {
        let bench = try StoreBench()
        let store = try bench.store()
        var paths: [String] = []
        for number in 1...4 { paths.append(try bench.package(NumberedModel(number), asArchive: number == 2)) }
        func proven(_ number: Int) async throws -> StoredModel {
            let stored = try await store.update(from: paths[number - 1])
            #expect(try await StoreBench.number(in: store) == number)
            return stored
        }
        let first = try await proven(1)
        let second = try await proven(2)
        #expect(second.earlier == [first.version])
        var held: AccelModel? = try await AccelModel(.stored("m", in: store))
        let third = try await proven(3)
        #expect(third.earlier == [second.version])
        #expect(Files.kind(of: first.path) == nil && Files.kind(of: second.path) == .file)
        let fourth = try await proven(4)
        #expect(fourth.earlier == [third.version])
        #expect(Files.kind(of: second.path) == .file)
        #expect(try await StoreBench.number(try #require(held)) == 2)
        #expect(try await store.rollBack("m").version == third.version)
        held = nil
        #expect(try await StoreBench.number(in: store) == 3)
        #expect(Files.kind(of: fourth.path) == nil)
        let error = await #expect(throws: AccelError.self) { try await store.rollBack("m") }
        #expect(error?.code == .notFound)
    }

    @Test("the same version again changes nothing, and mends it where it was damaged")
    func sameVersion() async throws {
        let bench = try StoreBench()
        let store = try bench.store()
        let path = try bench.package(NumberedModel(1))
        let stored = try await store.update(from: path)
        _ = try await StoreBench.number(in: store)
        let update = store.update("m", from: LocalPackage(path))
        var kinds: [UpdateEvent.Kind] = []
        for await event in update.events { kinds.append(event.kind) }
        #expect(kinds.last == .unchanged)
        #expect(try await update.value.version == stored.version)
        #expect(try await !store.model("m").isTentative)
        let blob = "\(stored.path)/weights-0000.bin"
        _ = Files.setMode(0o600, of: blob)
        let handle = try FileHandle(forWritingTo: URL(filePath: blob))
        try handle.seek(toOffset: 20_000)
        try handle.write(contentsOf: Data([1, 2, 3]))
        try handle.close()
        let error = await #expect(throws: AccelError.self) { try await AccelModel(.stored("m", in: store)) }
        #expect(error?.code == .corrupt)
        try await store.update(from: path)
        #expect(try await StoreBench.number(in: store) == 1)
    }

    @Test("files that somebody put into the store stay where they are")
    func foreignFiles() async throws {
        let bench = try StoreBench()
        let store = try bench.store()
        let (one, two, three) = (
            try bench.package(NumberedModel(1)), try bench.package(NumberedModel(2)),
            try bench.package(NumberedModel(3))
        )
        let first = try await store.update(from: one)
        let place = try #require(Files.parentFolder(of: first.path))
        let foreign = [
            "\(place)/mine.txt", "\(bench.root)/models/m/notes.txt", "\(bench.root)/mine.txt",
            "\(first.path)/assets/mine.txt",
            "\(bench.root)/models/m/\(String(repeating: "a", count: 64))",
        ]
        _ = try await StoreBench.number(in: store)
        try Files.makeFolder("\(first.path)/assets")
        for file in foreign { try Data("mine".utf8).write(to: URL(filePath: file)) }
        for path in [two, three] {
            try await store.update(from: path)
            _ = try await StoreBench.number(in: store)
        }
        try await store.remove("m")
        for file in foreign { #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine", "\(file)") }
        let left = Set(foreign.map { String($0.dropFirst(bench.root.count + 1)) })
        let files = try bench.entries().filter { Files.kind(of: "\(bench.root)/\($0)") == .file }
        #expect(files.subtracting(left).isSubset(of: ["README", "store.json"]), "\(files)")
    }

    @Test("a record that was changed is not believed, and not overwritten")
    func changedRecords() async throws {
        let bench = try StoreBench()
        let store = try bench.store()
        let path = try bench.package(NumberedModel(1))
        try await store.update(from: path)
        let record = "\(bench.root)/models/m/record.json"
        let text = try String(contentsOfFile: record, encoding: .utf8)
        for changed in [text.replacing("untried", with: "proven"), "", "{}", "<html>", String(text.dropLast(3))] {
            try Data(changed.utf8).write(to: URL(filePath: record))
            let error = await #expect(throws: AccelError.self) { try await AccelModel(.stored("m", in: store)) }
            #expect(error?.code == .corrupt, "\(changed): \(String(describing: error))")
            await #expect(throws: AccelError.self) { try await store.update(from: path) }
            #expect(try String(contentsOfFile: record, encoding: .utf8) == changed)
        }
        try Data(text.utf8).write(to: URL(filePath: record))
        #expect(try await StoreBench.number(in: store) == 1)
    }
}
