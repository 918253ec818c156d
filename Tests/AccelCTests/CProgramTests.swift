import Accel
import Foundation
import TestSupport
import Testing

#if os(Linux)
    @Suite("Programs in C, C++ and Python")
    struct CProgramTests {
        /// The folder of the built libraries, which are the debug build's: scripts/libaccel.sh tries those that are shipped.
        private static let libraries = Bundle.main.bundleURL.path
        private static let tokens = [5, 17, 3, 1]

        private struct Failure: Error, CustomStringConvertible { let description: String }

        /// What a program prints.
        private static func output(_ words: [String]) throws -> String {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = words
            process.currentDirectoryURL = URL(filePath: Fixtures.repository)
            let file = "\(CPackages.folder)/\(UUID().uuidString)"
            _ = FileManager.default.createFile(atPath: file, contents: nil)
            defer { try? FileManager.default.removeItem(atPath: file) }
            let handle = try FileHandle(forWritingTo: URL(filePath: file))
            (process.standardOutput, process.standardError) = (handle, handle)
            try process.run()
            process.waitUntilExit()
            try handle.close()
            let text = try String(contentsOfFile: file, encoding: .utf8)
            guard process.terminationStatus == 0, process.terminationReason == .exit else {
                throw Failure(description: "\(words.joined(separator: " ")): \(process.terminationStatus)\n\(text)")
            }
            return text
        }

        /// The sanitizer that the library was built with, which its programs need, too.
        private static let sanitizer: [String] = {
            let symbols = (try? output(["nm", "-D", "\(libraries)/libAccelC.so"])) ?? ""
            if symbols.contains("__asan_init") { return ["-fsanitize=address"] }
            guard symbols.contains("__tsan_init") else { return [] }
            // The runtime of Swift's thread sanitizer calls these libraries, which the library is linked with.
            let linked = (try? output(["ldd", "\(libraries)/libAccelC.so"])) ?? ""
            let dispatch = linked.split(whereSeparator: \.isWhitespace).first { $0.hasSuffix("/libdispatch.so") } ?? ""
            let folder = dispatch.dropLast("/libdispatch.so".count)
            return ["-fsanitize=thread", "-L\(folder)", "-ldispatch", "-lBlocksRuntime", "-Wl,-rpath,\(folder)"]
        }()

        private static func compiled(_ source: String, _ words: [String], library: String = "AccelC") throws -> String {
            let program = "\(CPackages.folder)/\(source)-\(library)"
            _ = try output(
                words + [
                    "-Wall", "-Wextra", "-pedantic", "-Werror", "-ISources/CAccel/include",
                    "scripts/libaccel/examples/\(source)",
                ]
                    + sanitizer + ["-L\(libraries)", "-l\(library)", "-Wl,-rpath,\(libraries)", "-o", program])
            return program
        }

        private static func expectedTokens() async throws -> [String] {
            let model = try await AccelModel(.path(try CPackages.decoder.get()))
            var lines: [String] = []
            let stream = try model.makeSession().generate(from: tokens.map(Int64.init), GenerationOptions(maxTokens: 5))
            for try await token in stream { lines.append(String(token)) }
            // C's numbers for the ends that there can be here.
            let reason = stream.summary?.reason == .stopToken ? 1 : stream.summary?.reason == .maxTokens ? 2 : 0
            return lines + ["reason \(reason), \(lines.count) generated"]
        }

        private static func expectedEmbedding() async throws -> [Float] {
            let model = try await AccelModel(.path(try CPackages.encoder.get()))
            let ones = try AccelTensor([1, 1, 1, 1, 1] as [Int64], 1, 5)
            let outputs = try await model.function("model")([
                "input_ids": AccelTensor([1, 2, 3, 4, 5] as [Int64], 1, 5), "attention_mask": ones,
                "token_type_ids": AccelTensor([0, 0, 0, 0, 0] as [Int64], 1, 5),
            ])
            return try outputs["last_hidden_state"].array(of: Float.self)
        }

        /// - Parameters:
        ///   - generate: programs that print generated tokens.
        ///   - embed: one that prints an embedding.
        private func check(generate: [[String]], embed: [String]) async throws {
            let expected = try await Self.expectedTokens()
            for generate in generate {
                let generated = try Self.output(
                    generate + [try CPackages.decoder.get(), "5"] + Self.tokens.map(String.init))
                #expect(generated.split(separator: "\n").map(String.init) == expected, "\(generate)")
            }
            let embedded = try Self.output(
                embed + [try CPackages.encoder.get(), "model", "last_hidden_state", "1", "2", "3", "4", "5"])
            // Nine digits are enough for each float32 to be read back.
            #expect(try await embedded.split(separator: "\n").map { Float($0) } == Self.expectedEmbedding())
        }

        @Test("in C99, and with conversion")
        func inC() async throws {
            let flags = ["clang", "-std=c99"]
            try await check(
                generate: [[try Self.compiled("generate.c", flags)], [try Self.compiled("again.c", flags)]],
                embed: [try Self.compiled("embed.c", flags)])
            let convert = try Self.compiled("convert.c", flags, library: "AccelCConvert")
            let path = "\(CPackages.folder)/converted.accelpkg"
            _ = try Self.output([convert, Fixtures.path("bert_base"), path, "batch=1,sequence=5"])
            #expect(try await AccelModel(.path(path)).functions.map(\.name) == ["model[batch=1,sequence=5]"])
        }

        @Test("in C++11")
        func inCPlusPlus() async throws {
            let program = try Self.compiled("examples.cpp", ["clang++", "-std=c++11"])
            try await check(generate: [[program, "generate"], [program, "again"]], embed: [program, "embed"])
        }

        private static let python: String? = {
            guard sanitizer.isEmpty else { return "the sanitizer has to be loaded before Python" }
            return (try? output(["python3", "--version"])) == nil ? "python3 is not installed" : nil
        }()

        @Test("in Python by ctypes", .disabled(if: python != nil, Comment(rawValue: python ?? "")))
        func inPython() async throws {
            let program = ["python3", "scripts/libaccel/examples/examples.py", "\(Self.libraries)/libAccelC.so"]
            try await check(generate: [program + ["generate"], program + ["again"]], embed: program + ["embed"])
        }

        @Test("the examples of the article compile in C99 and C++11")
        func article() throws {
            let path = "\(Fixtures.repository)/Sources/Accel/Accel.docc/CLibrary.md"
            let blocks = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "```c\n").dropFirst()
            #expect(blocks.count >= 3)
            for (index, block) in blocks.enumerated() {
                let code = try #require(block.components(separatedBy: "\n```").first)
                for (compiler, kind) in [(["clang", "-std=c99"], "c"), (["clang++", "-std=c++11"], "cpp")] {
                    let file = "\(CPackages.folder)/article-\(index).\(kind)"
                    try (code + "\n").write(toFile: file, atomically: true, encoding: .utf8)
                    let flags = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-ISources/CAccel/include"]
                    _ = try Self.output(compiler + flags + ["-fsyntax-only", file])
                }
            }
        }

        @Test("exported functions, sizes of structs and offsets of fields are those of libaccel.abi")
        func interface() throws {
            let found = try Self.output([
                "bash", "scripts/libaccel.sh", "abi", "\(Self.libraries)/libAccelC.so",
                "\(Self.libraries)/libAccelCConvert.so",
            ])
            let path = "\(Fixtures.repository)/Tests/AccelCTests/libaccel.abi"
            let expected = try String(contentsOfFile: path, encoding: .utf8)
            let changes = found.split(separator: "\n").difference(from: expected.split(separator: "\n"))
            #expect(changes.isEmpty, "old programs have to run with this library: see scripts/libaccel.sh")
        }
    }
#endif
