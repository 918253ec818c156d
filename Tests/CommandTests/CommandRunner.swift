import AccelByteIO
import AccelTensors
import Foundation
import TestSupport

@testable import accelc

#if os(Linux)
    import Glibc
#endif

/// The tool, run as a user runs it: in a process of its own, or in that of the test.
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

    /// A process that takes longer than this hangs.
    static let timeout: TimeInterval = 120

    private static func variables(in folder: String, _ environment: [String: String]) -> [String: String] {
        var variables = ProcessInfo.processInfo.environment
        for name in ["COLUMNS", "NO_COLOR", "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"] { variables[name] = nil }
        variables["HOME"] = folder
        variables["ACCELC_CACHE"] = folder + "/.cache"
        // Tests of the Hub name their own server.
        variables["HF_HUB_OFFLINE"] = "1"
        return variables.merging(environment) { _, new in new }
    }

    static func process(_ words: [String], in folder: String, environment: [String: String] = [:]) -> Process {
        let process = Process()
        process.executableURL = executable
        process.arguments = words
        process.currentDirectoryURL = URL(filePath: folder)
        process.environment = variables(in: folder, environment)
        return process
    }

    /// Runs the tool in the process of the test, or in a process of its own where it has to end itself, or to read what a process
    /// reads once.
    static func run(_ words: [String], in folder: String, environment: [String: String] = [:]) throws -> Result {
        #if os(Linux)
            if WorkingFolder.mayDiffer, !needsProcess(words, environment) {
                return try runHere(words, in: folder, environment: environment)
            }
        #endif
        return try runProcess(words, in: folder, environment: environment)
    }

    /// Runs the tool, and throws what it reports if it does not succeed.
    static func succeed(_ words: [String], in folder: String) throws {
        let result = try run(words, in: folder)
        guard result.status == 0 else { throw CommandScript.Problem(description: "\(words): \(result.errors)") }
    }

    /// Runs the tool in a process of its own.
    static func runProcess(_ words: [String], in folder: String, environment: [String: String] = [:]) throws -> Result {
        let process = process(words, in: folder, environment: environment)
        process.standardInput = FileHandle.nullDevice
        return try withStreams(in: folder) { output, errors in
            (process.standardOutput, process.standardError) = (output, errors)
            try process.run()
            let alarm = DispatchWorkItem { process.terminate() }
            DispatchQueue.global().asyncAfter(deadline: .now() + timeout, execute: alarm)
            process.waitUntilExit()
            alarm.cancel()
            return process.terminationReason == .uncaughtSignal
                ? 128 + process.terminationStatus : process.terminationStatus
        }
    }

    /// Calls `body`, which returns an exit status, with files for the two streams. Files rather than pipes: nothing blocks, however
    /// much is printed.
    private static func withStreams(
        in folder: String, _ body: (_ output: FileHandle, _ errors: FileHandle) throws -> Int32
    ) throws -> Result {
        let streams = ["stdout", "stderr"].map { URL(filePath: "\(folder)/.\($0)") }
        for stream in streams { try Data().write(to: stream) }
        let handles = try streams.map { try FileHandle(forWritingTo: $0) }
        // Foundation keeps them open for long, and with some thousand open files its own look through them reads past a buffer.
        defer { handles.forEach { try? $0.close() } }
        let status = try body(handles[0], handles[1])
        let texts = try streams.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
        return Result(status: status, output: texts[0], errors: texts[1])
    }

    #if os(Linux)
        /// Whether a run ends its process, hands its terminal to another program, uses threads that have another working
        /// folder, or depends on what is read once in a process.
        private static func needsProcess(_ words: [String], _ environment: [String: String]) -> Bool {
            // A conversation reads standard input.
            let options = ["--timeout", "--threads", "--backend", "--chat"]
            return words.first == "sign"
                || words.contains { word in options.contains { word == $0 || word.hasPrefix("\($0)=") } }
                || environment.keys.contains { ["ACCELC_MEMORY", "ACCELC_CPU"].contains($0) }
        }

        private static func runHere(
            _ words: [String], in folder: String, environment: [String: String]
        ) throws -> Result {
            let variables = variables(in: folder, environment)
            return try withStreams(in: folder) { output, errors in
                let streams: [StandardStream: Int32] = [
                    .output: output.fileDescriptor, .errors: errors.fileDescriptor,
                ]
                return try WorkingFolder.run(in: folder) {
                    ProcessEnvironment.$replacement.withValue(variables) {
                        Parallel.$processorLimit.withValue(1) {
                            StandardStream.$descriptors.withValue(streams) {
                                Accelc.run(words, Console(for: words)).rawValue
                            }
                        }
                    }
                }
            }
        }
    #endif

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

#if os(Linux)
    /// Threads with a working folder of their own, which Linux gives to a thread that asks for it.
    private enum WorkingFolder {
        /// Gives the thread a working folder of its own. Whether the system allows it: some containers do not.
        private static func detach() -> Bool {
            typealias Unshare = @convention(c) (Int32) -> Int32
            // Glibc's module leaves the function out, and this flag, CLONE_FS.
            guard let function = dlsym(nil, "unshare") else { return false }
            return unsafeBitCast(function, to: Unshare.self)(0x200) == 0
        }

        static let mayDiffer: Bool = onThread { detach() } ?? false

        /// Runs `body` on a new thread in a folder.
        static func run<Value: Sendable>(in folder: String, _ body: @escaping @Sendable () -> Value) throws -> Value {
            let value = onThread { detach() && chdir(folder) == 0 ? body() : nil }
            guard let value, let value else {
                throw CommandScript.Problem(description: "no thread can work in \(folder)")
            }
            return value
        }

        private static func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value? {
            let (result, done) = (Locked<Value?>(nil), DispatchSemaphore(value: 0))
            let hasStarted = DetachedThread.start {
                let value = body()
                result.withLock { $0 = value }
                done.signal()
            }
            if hasStarted { done.wait() }
            return result.withLock { $0 }
        }
    }
#endif
