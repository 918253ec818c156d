#if os(Linux)
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    @Suite("Interrupts")
    struct InterruptTests {
        @Test("An interrupted command leaves nothing half-written and exits with 130", arguments: [SIGINT, SIGTERM])
        func interrupted(_ signal: Int32) throws {
            try withTemporaryFolder { folder in
                let convert = [
                    "convert", Fixtures.path("bert_mlm"), "--shape", "batch=1,sequence=8", "-o", "p.accelpkg",
                ]
                #expect(try CommandRunner.run(convert, in: folder).status == 0)

                // Nobody reads its progress: the command stops in the middle of writing once this small pipe is full.
                let stream = Pipe()
                _ = fcntl(stream.fileHandleForWriting.fileDescriptor, 1031 /* F_SETPIPE_SZ */, 4096)
                let words = ["decompress", "p.accelpkg", "-o", "w.safetensors", "--progress", "json"]
                let process = CommandRunner.process(words, in: folder)
                process.standardError = stream
                process.standardOutput = FileHandle.nullDevice
                try process.run()
                let deadline = Date(timeIntervalSinceNow: 30)
                while try partialFiles(folder).isEmpty, process.isRunning, Date() < deadline { usleep(2000) }
                #expect(try !partialFiles(folder).isEmpty)
                kill(process.processIdentifier, signal)
                process.waitUntilExit()

                #expect(process.terminationReason == .exit)
                #expect(process.terminationStatus == 130)
                #expect(try partialFiles(folder).isEmpty)
                #expect(!FileManager.default.fileExists(atPath: "\(folder)/w.safetensors"))
            }
        }

        private func partialFiles(_ folder: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".partial") }
        }

        @Test("A reader that goes away is no error")
        func brokenPipe() throws {
            try withTemporaryFolder { folder in
                let process = CommandRunner.process(["inspect", Fixtures.path("bert_base")], in: folder)
                let stream = Pipe()
                process.standardOutput = stream
                let errors = Pipe()
                process.standardError = errors
                try stream.fileHandleForReading.close()
                try process.run()
                process.waitUntilExit()
                #expect(process.terminationReason == .exit)
                #expect(process.terminationStatus == 0)
                try errors.fileHandleForWriting.close()
                #expect(errors.fileHandleForReading.readDataToEndOfFile().isEmpty)
            }
        }

        /// The thread sanitizer's runtime writes a file of its own when a process starts.
        private static let mayLimitFiles = ProcessInfo.processInfo.environment["TSAN_OPTIONS"] == nil

        @Test(
            "A file that may not be so large is an error, and nothing of it is left",
            .enabled(if: mayLimitFiles, "the thread sanitizer's own files would be cut"), arguments: [0, 1, 100])
        func limited(_ blocks: Int) throws {
            try withTemporaryFolder { folder in
                let convert = [
                    "convert", Fixtures.path("bert_base"), "--shape", "batch=1,sequence=8", "-q", "-o", "p.accelpkg",
                ]
                #expect(try CommandRunner.run(convert, in: folder).status == 0)
                for words in [
                    convert.dropLast() + ["q.accelpkg"], ["decompress", "p.accelpkg", "-o", "w.safetensors"],
                ] {
                    let process = CommandRunner.process([], in: folder)
                    let tool = CommandRunner.executable.path
                    process.executableURL = URL(filePath: "/bin/sh")
                    process.arguments = ["-c", "ulimit -f \(blocks) && exec \"$0\" \"$@\"", tool] + words
                    process.environment?["ACCELC_CACHE"] = "\(folder)/.other"
                    let stream = Pipe()
                    process.standardError = stream
                    try process.run()
                    let errors = String(decoding: stream.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                    process.waitUntilExit()
                    #expect(process.terminationReason == .exit && process.terminationStatus == 3, "\(errors)")
                    #expect(errors.contains("File too large"), "\(errors)")
                    #expect(try partialFiles(folder).isEmpty)
                    for name in ["q.accelpkg", "w.safetensors"] {
                        #expect(!FileManager.default.fileExists(atPath: "\(folder)/\(name)"))
                    }
                }
            }
        }

        @Test("Output that cannot be written is an error")
        func fullDevice() throws {
            try withTemporaryFolder { folder in
                let process = CommandRunner.process(["version"], in: folder)
                process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
                process.standardError = FileHandle.nullDevice
                try process.run()
                process.waitUntilExit()
                #expect(process.terminationStatus == 3)
            }
        }
    }
#endif
