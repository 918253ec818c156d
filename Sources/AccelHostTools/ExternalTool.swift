import AccelByteIO
import AccelPlatform

/// Another program that does a part of the work, so that this tool never reads a private key.
package struct ExternalTool {
    package struct Result {
        package var isSuccess: Bool
        package var output: [UInt8]
        /// The last line of its error output, in parentheses; empty if there is none.
        package var message: String
    }
    package let name: String
    private let path: String

    /// - Parameter need: the purpose, for the error.
    /// - Throws: `RequestError` (unavailable) when it is not on PATH.
    package init(_ name: String, need: String) throws {
        guard let path = Self.path(of: name) else {
            throw RequestError("\(name) is not on PATH; it is needed to \(need)", status: .unavailable)
        }
        self.name = name
        self.path = path
    }

    /// Returns the path of a program, by its name on PATH, or by a path; nil if there is no such program.
    package static func path(of name: String) -> String? {
        let folders = (ProcessEnvironment.value("PATH") ?? "").split(separator: ":")
        let paths = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
        return paths.first { Files.kind(of: $0) == .file && access($0, X_OK) == 0 }
    }

    /// Runs the program to its end.
    /// - Parameter files: contents of temporary files that only this user may read; words `@NAME` are replaced by their
    ///   paths.
    package func run(_ words: [String], input: [UInt8], files: [String: [UInt8]] = [:]) throws -> Result {
        let folder = try TemporaryFolder(beside: "\(ProcessEnvironment.temporaryFolder)/accelc-signing", mode: 0o700)
        func write(_ bytes: [UInt8], _ name: String) throws -> String {
            let path = "\(folder.path)/\(name)"
            try AtomicFile.write(ByteView(bytes), to: path, as: .internal, mode: 0o600, isSynced: false)
            return path
        }
        for (name, content) in files { _ = try write(content, name) }
        let streams = [try write(input, "input"), try write([], "output"), try write([], "errors")]

        let words = words.map { $0.hasPrefix("@") ? "\(folder.path)/\($0.dropFirst())" : $0 }
        var environment = ProcessEnvironment.all
        environment["LC_ALL"] = "C"
        let isSuccess = try HelperProcesses.run(
            path, words, environment: environment, streams: (streams[0], streams[1], streams[2]))
        let output = try MappedFile(streams[1]).bytes.withBytes { Array($0) }
        let errors = try MappedFile(streams[2]).bytes.withBytes { String(decoding: $0, as: UTF8.self) }
        let message = errors.split(whereSeparator: \.isNewline).last.map { " (\(name): \($0.prefix(200)))" }
        return Result(isSuccess: isSuccess, output: output, message: message ?? "")
    }
}
