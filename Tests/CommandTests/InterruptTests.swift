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
