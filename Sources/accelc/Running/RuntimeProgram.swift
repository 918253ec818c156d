import AccelByteIO
import AccelHostTools
import AccelPlatform
import AccelVerification

/// The Python programs that drive runtimes of other projects, `scripts/runtimes/NAME.py`.
struct RuntimeProgram: RuntimeDriver {
    /// The folder of the programs; nil for the one that belongs to this executable.
    let folder: String?
    /// The Python interpreter: a name on PATH, or a path.
    let python: String
    /// The time that one run of a request may take.
    let seconds: Double

    /// The exit status of a program whose runtime is missing.
    private static let missing = 3
    /// The file of a run's output and errors, beside the request.
    private static let output = "output.txt"

    func run(_ runtime: ModelRuntime, in request: String, runs: Int) throws -> String? {
        let (program, interpreter) = (try program(of: runtime), try interpreter(for: runtime))
        guard try isPython(interpreter, in: request) else {
            throw RequestError(
                "\(interpreter) is no Python interpreter; \(runtime.title) needs one that has \"\(runtime.installation)\": name it by "
                    + "--python, or in ACCELC_PYTHON", status: .unavailable)
        }
        let output = "\(request)/\(Self.output)"
        try AtomicFile.write("", to: output, as: .internal)
        var environment = ProcessEnvironment.all
        // Packages beside the program are not imported in place of the runtime, and nothing is written beside it.
        environment["PYTHONSAFEPATH"] = "1"
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        let allowed = seconds * Double(runs)
        let end = try HelperProcesses.run(
            interpreter, [program, request], environment: environment, output: output, seconds: allowed)
        let text = try MappedFile(output).bytes.withBytes { String(decoding: $0, as: UTF8.self) }
        let last = text.split(whereSeparator: \.isNewline).last.map { String($0.prefix(300)) }
        switch end {
        case .exited(0): return nil
        case .exited(Self.missing):
            throw RequestError(last ?? "\(runtime.title) is missing: \(runtime.installation)", status: .unavailable)
        case .exited(let status): return "its program ended with status \(status)" + (last.map { ": \($0)" } ?? "")
        case .killed(let signal): return "signal \(signal) ended its program" + (last.map { ": \($0)" } ?? "")
        case .timedOut:
            let time = "\(Text.decimals(allowed, 0)) s for \(Wording.count(runs, "run"))"
            return "its program was still running after \(time) (--runtime-timeout)"
        }
    }

    private func interpreter(for runtime: ModelRuntime) throws -> String {
        guard let path = ExternalTool.path(of: python) else {
            throw RequestError(
                "there is no Python interpreter \"\(python)\"; \(runtime.title) needs it and \"\(runtime.installation)\": name "
                    + "one by --python, or in ACCELC_PYTHON", status: .unavailable)
        }
        return path
    }

    /// Whether a program is Python: it answers as Python does.
    private func isPython(_ path: String, in request: String) throws -> Bool {
        let output = "\(request)/interpreter.txt"
        try AtomicFile.write("", to: output, as: .internal)
        let end = try HelperProcesses.run(
            path, ["-c", "print(6 * 7)"], environment: ProcessEnvironment.all, output: output, seconds: 60)
        let answer = try MappedFile(output).bytes.withBytes { String(decoding: $0, as: UTF8.self) }
        return end == .exited(0) && answer.split(whereSeparator: \.isNewline).last == "42"
    }

    private func program(of runtime: ModelRuntime) throws -> String {
        let folders = folder.map { [$0] } ?? Self.folders
        let paths = folders.map { "\($0)/\(runtime.name).py" }
        guard let path = paths.first(where: { Files.kind(of: $0) == .file }) else {
            throw RequestError(
                "there is no program of \(runtime.title): searched were \(paths.joined(separator: ", ")); name by "
                    + "--runtimes, or in ACCELC_RUNTIMES, the folder scripts/runtimes of accelc's source",
                status: .unavailable)
        }
        return path
    }

    /// The folders that may have the programs: of an installed executable, and of one in a build folder of the source tree.
    private static var folders: [String] {
        guard let executable = ProcessEnvironment.executable, let own = Files.parentFolder(of: executable) else {
            return []
        }
        var folders = ["\(own)/../share/accelc/runtimes", "\(own)/share/accelc/runtimes"]
        var folder = own
        while let parent = Files.parentFolder(of: folder), parent != folder {
            if Files.name(of: folder) == ".build" { folders.append("\(parent)/scripts/runtimes") }
            folder = parent
        }
        return folders
    }
}
