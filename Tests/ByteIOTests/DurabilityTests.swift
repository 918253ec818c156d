import Foundation
import TestSupport
import Testing

@testable import AccelByteIO

/// Holds every output to the law of power cuts: nothing gets its name before its bytes, and the names in its folders, are on the
/// disk; and nothing is said to be done before the folder that it is in is.
private final class PowerCutLaw: Sendable {
    private struct State {
        /// Files whose bytes are on the disk.
        var files: Set<String> = []
        /// Folders that are, with the names that they had then.
        var folders: [String: [String]] = [:]
        /// Folders in which something has a new name.
        var open: Set<String> = []
        var published = 0
        var broken: [String] = []
    }
    private let state = Locked(State())

    @Sendable func note(_ event: Disk.Event) {
        state.withLock { state in
            switch event {
            case .written(let path): state.files.remove(path)
            case .synced(let path):
                if Files.kindWithoutFollowing(path) == .folder {
                    state.folders[path] = try? Files.list(path)
                    state.open.remove(path)
                } else {
                    state.files.insert(path)
                }
            case .deciding: break
            case .publishing(let temporary, _): state.broken += Self.missing(at: temporary, state)
            case .published(let path):
                state.published += 1
                state.open.insert(Files.parentFolder(of: path) ?? "/")
            }
        }
    }

    private static func missing(at path: String, _ state: State) -> [String] {
        guard Files.kindWithoutFollowing(path) == .folder else {
            return state.files.contains(path) ? [] : ["\(path) gets its name before its bytes are on the disk"]
        }
        let names = (try? Files.list(path)) ?? []
        let isSynced = state.folders[path] == names
        return (isSynced ? [] : ["\(path) gets its name before the names in it are on the disk"])
            + names.flatMap { missing(at: "\(path)/\($0)", state) }
    }

    /// What was against the law; and how much was published.
    var result: (broken: [String], published: Int) {
        state.withLock { state in
            (state.broken + state.open.sorted().map { "\($0) has a new name that is not on the disk" }, state.published)
        }
    }
}

@Suite("power cuts")
struct DurabilityTests {
    private static let kinds = [
        OutputKind.internal, .file("a test's file") { _ in nil }, .folder("a test's folder") { _ in nil },
    ]

    private func lawful(
        _ folder: String, _ body: () throws -> Void, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let law = PowerCutLaw()
        try Disk.observing(folder, { law.note($0) }, during: body)
        let (broken, published) = law.result
        #expect(broken == [], sourceLocation: location)
        #expect(published == 2, sourceLocation: location)
    }

    /// Twice: in a place that is free, and in place of the first.
    @Test(
        "a file's bytes are on the disk before it has its name, then its name", arguments: kinds[..<2].indices,
        [nil, 10_000])
    func files(_ kind: Int, cachedBytes: Int?) throws {
        try withTemporaryFolder { folder in
            try lawful(folder) {
                for _ in 0..<2 {
                    var file = try AtomicFile(replacing: "\(folder)/a", as: Self.kinds[kind], cachedBytes: cachedBytes)
                    try file.write(ByteView([UInt8](repeating: 1, count: 400_000)))
                    try file.write("end")
                    try file.commit()
                }
            }
        }
    }

    @Test("a copy's bytes are on the disk before it has its name, however it is made", arguments: [false, true])
    func copies(mayLink: Bool) throws {
        try withTemporaryFolder { folder in
            try Data([UInt8](repeating: 1, count: 10_000)).write(to: URL(filePath: "\(folder)/source"))
            let unknown = Locked<[String]>([])
            try lawful(folder) {
                for index in 0..<2 {
                    try Files.copyAtomically(
                        "\(folder)/source", to: "\(folder)/a", as: Self.kinds[index], mode: 0o444, mayLink: mayLink)
                    #expect(Files.access(of: "\(folder)/a")?.mode == 0o444)
                }
            }
            _ = try Disk.observing(folder) { event in
                guard case .publishing(let temporary, _) = event else { return }
                if !TemporaryPaths.paths.withLock({ $0.contains(temporary) }) {
                    unknown.withLock { $0.append(temporary) }
                }
            } during: {
                try Files.copyAtomically("\(folder)/source", to: "\(folder)/a", as: .internal, mayLink: mayLink)
            }
            #expect(unknown.withLock { $0 } == [])
            #expect(try Files.list(folder).sorted() == ["a", "source"])
        }
    }

    @Test(
        "a folder's files and names are on the disk before it has its name, then its name",
        arguments: [kinds[0], kinds[2]].indices)
    func folders(_ kind: Int) throws {
        try withTemporaryFolder { root in
            try lawful(root) {
                for text in ["1", "2"] {
                    let folder = try AtomicFolder(replacing: "\(root)/a", as: [Self.kinds[0], Self.kinds[2]][kind])
                    try Files.makeFolder("\(folder.path)/deep/er")
                    for name in ["first", "deep/second", "deep/er/third"] {
                        try Data(text.utf8).write(to: URL(filePath: "\(folder.path)/\(name)"))
                    }
                    try folder.commit()
                }
            }
        }
    }

    @Test("the law finds a file, a folder in a folder, and a folder's new name that are not synced")
    func control() throws {
        try withTemporaryFolder { root in
            let law = PowerCutLaw()
            try Files.makeFolder("\(root)/f/g")
            try Data("x".utf8).write(to: URL(filePath: "\(root)/f/x"))
            law.note(.publishing(temporary: "\(root)/f", path: "\(root)/h"))
            law.note(.published(path: "\(root)/h"))
            #expect(law.result.broken.count == 4)
            let late = PowerCutLaw()
            late.note(.synced("\(root)/f/x"))
            late.note(.written("\(root)/f/x"))
            late.note(.publishing(temporary: "\(root)/f/x", path: "\(root)/y"))
            #expect(late.result.broken.count == 1)
        }
    }

    @Test("a sync is the system's: of what cannot be synced it says so")
    func real() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let reader = FileDescriptor(ends[0])
        let writer = FileDescriptor(ends[1])
        let isSynced = Disk.sync(writer, "a pipe")
        #expect(!isSynced && reader.number >= 0)
    }
}
