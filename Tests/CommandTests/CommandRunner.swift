import Foundation
import TestSupport

/// The built tool, run as a user runs it.
enum CommandRunner {
    struct Result {
        var status: Int32
        var output: String
        var errors: String
    }

    /// The executable lies in the build folder, beside the test bundle.
    static let executable: URL = {
        #if os(macOS)
            let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? Bundle.main
            return bundle.bundleURL.deletingLastPathComponent().appending(path: "accelc")
        #else
            return Bundle.main.bundleURL.appending(path: "accelc")
        #endif
    }()

    /// A run that takes longer than this hangs.
    static let timeout: TimeInterval = 120

    static func process(_ words: [String], in folder: String, environment: [String: String] = [:]) -> Process {
        let process = Process()
        process.executableURL = executable
        process.arguments = words
        process.currentDirectoryURL = URL(filePath: folder)
        var variables = ProcessInfo.processInfo.environment
        for name in ["COLUMNS", "NO_COLOR", "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"] { variables[name] = nil }
        variables["HOME"] = folder
        variables["ACCELC_CACHE"] = folder + "/.cache"
        process.environment = variables.merging(environment) { _, new in new }
        return process
    }

    static func run(_ words: [String], in folder: String, environment: [String: String] = [:]) throws -> Result {
        let process = process(words, in: folder, environment: environment)
        // Files rather than pipes: nothing blocks, however much is printed.
        let streams = ["stdout", "stderr"].map { URL(filePath: "\(folder)/.\($0)") }
        for stream in streams { try Data().write(to: stream) }
        process.standardInput = FileHandle.nullDevice
        let handles = try streams.map { try FileHandle(forWritingTo: $0) }
        // Foundation keeps them open for long, and with some thousand open files its own look through them reads past a buffer.
        defer { handles.forEach { try? $0.close() } }
        (process.standardOutput, process.standardError) = (handles[0], handles[1])
        try process.run()
        let alarm = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + timeout, execute: alarm)
        process.waitUntilExit()
        alarm.cancel()
        let texts = try streams.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
        return Result(
            status: process.terminationReason == .uncaughtSignal
                ? 128 + process.terminationStatus : process.terminationStatus, output: texts[0], errors: texts[1])
    }

    /// The relative paths and contents of everything under a path.
    static func contents(of path: String) throws -> [String: Data] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw CommandScript.Problem(description: "there is no \(path)")
        }
        if !isFolder.boolValue { return ["": try Data(contentsOf: URL(filePath: path))] }
        var contents: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
            if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(path)/\(name)") {
                contents[name] = Data("-> \(target)".utf8)
                continue
            }
            _ = FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder)
            contents[name] = isFolder.boolValue ? Data() : try Data(contentsOf: URL(filePath: "\(path)/\(name)"))
        }
        return contents
    }
}
