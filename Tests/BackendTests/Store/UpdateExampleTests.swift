#if os(Linux) || os(macOS)
    import Accel
    import AccelByteIO
    import BackendConformance
    import Foundation
    import TestSupport
    import Testing

    @Suite("The example app that updates its model")
    struct UpdateExampleTests {
        /// Runs the app, and returns its lines, those of events apart.
        private func run(_ store: String, _ url: String) throws -> (lines: [String], events: [String]) {
            let process = Process()
            #if os(macOS)
                let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? Bundle.main
                let folder = bundle.bundleURL.deletingLastPathComponent()
            #else
                let folder = Bundle.main.bundleURL
            #endif
            process.executableURL = folder.appending(path: "UpdateExample")
            process.arguments = [store, url]
            let output = Pipe()
            process.standardOutput = output
            process.standardError = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus == 0, "\(text)")
            let lines = text.split(separator: "\n").map(String.init)
            let isEvent = { (line: String) in
                ["fetching", "checking", "updated", "unchanged"].contains { line.hasPrefix($0 + " ") }
            }
            return (lines.filter { !isEvent($0) }, lines.filter(isEvent))
        }

        @Test(
            "it swaps a decoder while it has it, streams tokens of the new one, and keeps the old one if the new one is damaged"
        )
        func assistant() async throws {
            let bench = try StoreBench()
            let cases = try ConformanceCases()
            let first = try cases.decoder("gpt2_small", "float32").path
            let second = try cases.decoder("gpt2_small", "int8").path
            var archives: [String] = []
            var tokens: [[String]] = []
            for (index, path) in [first, second].enumerated() {
                archives.append("\(bench.folder)/\(index).accelpkg")
                try PackageWriter.archive(packageAt: path, to: archives[index])
                let session = try await AccelModel(.path(path)).makeSession()
                var found: [String] = []
                for try await token in session.generate(from: [1, 2, 3], GenerationOptions(maxTokens: 4)) {
                    found.append("token \(token)")
                }
                tokens.append(found)
            }
            let (old, new) = (
                try AcceleratorPackage(at: archives[0]).digest, try AcceleratorPackage(at: archives[1]).digest
            )
            do {
                let store = try bench.store()
                _ = try await store.update("assistant", from: LocalPackage(archives[0])).value
            }
            let same = try run(bench.root, "file://\(archives[0])")
            #expect(same.lines.first == "now \(old)")
            #expect(Array(same.lines.dropFirst().prefix(4)) == tokens[0])
            #expect(same.lines.last?.hasPrefix("same [") == true, "\(same)")

            let swapped = try run(bench.root, "file://\(archives[1])")
            #expect(swapped.lines.first == "now \(new)")
            #expect(Array(swapped.lines.dropFirst().prefix(4)) == tokens[1])
            #expect(swapped.lines.last?.hasPrefix("swapped [") == true, "\(swapped)")
            #expect(swapped.events.contains("checking interface"))

            let damaged = "\(bench.folder)/damaged.accelpkg"
            var bytes = try Data(contentsOf: URL(filePath: archives[0]))
            bytes[bytes.count / 2] ^= 1
            try bytes.write(to: URL(filePath: damaged))
            let kept = try run(bench.root, "file://\(damaged)")
            #expect(kept.lines.first?.hasPrefix("kept the old one: ") == true, "\(kept)")
            #expect(Array(kept.lines.dropFirst().prefix(4)) == tokens[1])
            #expect(try await bench.store().model("assistant").version == new)
        }
    }
#endif
