#if os(Linux)
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    /// scripts/consumer.sh makes a package of the same program and builds all of it anew, which takes minutes; `check.sh consumer`
    /// runs that. Here the program is compiled against the modules that are built already.
    @Suite("A program outside of the tree")
    struct ConsumerTests {
        private static let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

        @Test(
            "It converts in shares, verifies and runs a model through the public API alone",
            .disabled(if: isSanitized, "what it links would need the sanitizer too"))
        func consumer() throws {
            let build = CommandRunner.executable.deletingLastPathComponent().path
            let root = Fixtures.repository
            let sources = try FileManager.default.contentsOfDirectory(atPath: "\(root)/Sources")
            let objects = sources.filter { $0 != "accelc" }.flatMap { module -> [String] in
                // An object of a source that has moved away stays in the build folder.
                let names = Set(Self.files(below: "\(root)/Sources/\(module)").map { "\(Self.name(of: $0)).o" })
                return Self.files(below: "\(build)/\(module).build").filter { names.contains(Self.name(of: $0)) }
                    .map { "\(build)/\(module).build/\($0)" }
            }
            try withTemporaryFolder { folder in
                let maps = [
                    "\(build)/CAccelKernels.build/module.modulemap", "\(build)/CAccelPlatform.build/module.modulemap",
                    "\(build)/CAccelPlugin.build/module.modulemap", "\(build)/CAccelUnicode.build/module.modulemap",
                    "\(root)/Sources/CAccelZlib/module.modulemap",
                ]
                try run(
                    ["swiftc", "-swift-version", "6", "-parse-as-library", "-I", "\(build)/Modules"]
                        + maps.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
                        + ["\(root)/scripts/consumer/Consumer.swift"] + objects
                        + ["-lz", "-lm", "-o", "\(folder)/consumer"])
                let output = try run(["\(folder)/consumer", Fixtures.path("digits"), folder])
                #expect(output.contains("57 weights found"), "\(output)")
                #expect(output.contains("of 360 digits as the framework has them"), "\(output)")
            }
        }

        private static func files(below folder: String) -> [String] {
            FileManager.default.subpaths(atPath: folder) ?? []
        }

        private static func name(of path: String) -> String { URL(filePath: path).lastPathComponent }

        @discardableResult
        private func run(_ words: [String]) throws -> String {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = words
            let output = Pipe()
            process.standardOutput = output
            process.standardError = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            try #require(process.terminationStatus == 0, "\(words[0]): \(text)")
            return text
        }
    }
#endif
