import Foundation

/// Files that the tests carry: Tests/Fixtures, made by scripts/fixtures.py.
public enum Fixtures {
    static let testsFolder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    public static func path(_ name: String) -> String { testsFolder.appending(path: "Fixtures/\(name)").path }
    /// Every fixture that is a model with a configuration.
    public static var families: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path(""))) ?? []
        return names.sorted().filter { FileManager.default.fileExists(atPath: path("\($0)/config.json")) }
    }
    /// The folder of the whole project.
    public static var repository: String { testsFolder.deletingLastPathComponent().path }
    /// The Swift sources of the products, by their paths below Sources.
    /// - Parameter module: nil for those of every module.
    public static func sources(of module: String? = nil) throws -> [String: String] {
        let folder = "\(repository)/Sources"
        let names =
            FileManager.default.enumerator(atPath: "\(folder)/\(module ?? "")")?.compactMap { $0 as? String } ?? []
        let paths = names.filter { $0.hasSuffix(".swift") }.map { name in module.map { "\($0)/\(name)" } ?? name }
        return try Dictionary(
            uniqueKeysWithValues: paths.map {
                ($0, try String(contentsOf: URL(filePath: "\(folder)/\($0)"), encoding: .utf8))
            })
    }
    /// The larger collection of parity cases beside the checkout, where there is one.
    public static var sharedCases: String? {
        let path = testsFolder.deletingLastPathComponent().deletingLastPathComponent().appending(path: "shared/cases")
            .path
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }
}

/// A folder that is removed at the end of `body`.
@discardableResult
public func withTemporaryFolder<Result>(in root: String? = nil, _ body: (String) throws -> Result) throws -> Result {
    let parent = root.map { URL(filePath: $0) } ?? FileManager.default.temporaryDirectory
    let folder = parent.appending(path: "accelc-test-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try body(folder)
}

/// SplitMix64: small, seeded, the same everywhere.
public struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    public init(seed: UInt64) { state = seed }
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// A folder that is made once, and copied for each test that needs it.
public final class SharedFolder: Sendable {
    private let made: Result<String, any Error>

    /// The folders of the process, which are removed at its end.
    private static let root: URL = {
        let root = FileManager.default.temporaryDirectory.appending(path: "accelc-shared-\(UUID().uuidString)")
        atexit { try? FileManager.default.removeItem(at: SharedFolder.root) }
        return root
    }()

    /// Creates the folder. An error of `make` is thrown to each test.
    public init(_ make: (_ folder: String) throws -> Void) {
        made = Result {
            let folder = Self.root.appending(path: UUID().uuidString).path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try make(folder)
            return folder
        }
    }

    /// The folder itself, for tests that only read it.
    public var path: String { get throws { try made.get() } }

    /// Runs `body` in a copy of the entries that are wanted (all, unless said otherwise), which is removed afterwards. Hidden entries
    /// are not copied.
    @discardableResult
    public func withCopy<Result>(
        of isWanted: (_ entry: String) -> Bool = { _ in true }, _ body: (_ folder: String) throws -> Result
    ) throws -> Result {
        let original = try made.get()
        return try withTemporaryFolder { folder in
            for name in try FileManager.default.contentsOfDirectory(atPath: original)
            where !name.hasPrefix(".") && isWanted(name) {
                try FileManager.default.copyItem(atPath: "\(original)/\(name)", toPath: "\(folder)/\(name)")
            }
            return try body(folder)
        }
    }
}
