#if os(Linux)
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    /// What stands where a file should: each is rejected at once, with one sentence.
    @Suite("Hostile things in place of files")
    struct HostilePathTests {
        /// Command lines in which `@` is the path.
        static let lines = [
            "inspect @", "inspect @ --check", "convert @ --shape batch=1 -o o.accelpkg",
            "convert digits --shape batch=1,sequence=65 --recipe @ -o o.accelpkg",
            "convert digits --shape-from @ -o o.accelpkg",
            "convert digits --shape batch=1,sequence=65 --compress int4:method=gptq --calibrate @ -o o.accelpkg",
            "convert digits --shape batch=1,sequence=65 --compress int4:method=weighted --importance @ -o o.accelpkg",
            "importance digits --calibrate @ -o o.safetensors",
            "importance @ --calibrate digits/golden.safetensors -o o.safetensors",
            "convert digits/model.safetensors --config @ --shape batch=1,sequence=65 -o o.accelpkg",
            "verify p.accelpkg --against @", "verify p.accelpkg --golden @", "verify p.accelpkg --inputs @",
            "verify p.accelpkg --budget @", "verify @ --against digits",
            "run p.accelpkg --inputs @ --outputs o.safetensors",
            "run @ --inputs digits/golden.safetensors --outputs o.safetensors", "decompress @ -o o.safetensors",
            "diff @ p.accelpkg", "diff p.accelpkg @", "export @ --format coreml -o o.mlpackage",
            "check-signature @ --trust digits/config.json", "check-signature p.accelpkg --trust @",
            "check-signature p.accelpkg --signature @ --allowed-signers digits/config.json --identity a",
            "check-signature p.accelpkg --signature @ --public-key digits/config.json",
            "convert digits --shape batch=1,sequence=65 -o @", "decompress p.accelpkg -o @",
        ]
        static let kinds = ["pipe", "/dev/zero", "socket", "loop", "broken", "empty", "digits/config.json/x", "zeros"]

        private static let models = SharedFolder { folder in
            try FileManager.default.copyItem(atPath: Fixtures.path("digits"), toPath: "\(folder)/digits")
            let words = [
                "convert", "digits", "--shape", "batch=1,sequence=65", "--compress", "float16", "-q", "-o",
                "p.accelpkg",
            ]
            try CommandRunner.succeed(words, in: folder)
        }

        @Test("Every option that takes a file", arguments: lines)
        func rejected(_ line: String) throws {
            try Self.models.withCopy { folder in
                #expect(mkfifo("\(folder)/pipe", 0o600) == 0)
                for (name, target) in [("loop", "loop"), ("broken", "nowhere")] {
                    try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: target)
                }
                try Data().write(to: URL(filePath: "\(folder)/empty"))
                try Data(count: 1 << 16).write(to: URL(filePath: "\(folder)/zeros"))
                try makeSocket("\(folder)/socket")
                for kind in Self.kinds {
                    let words = line.split(separator: " ").map { $0 == "@" ? kind : String($0) }
                    let start = ContinuousClock.now
                    let result = try CommandRunner.run(words, in: folder)
                    #expect([2, 3, 4].contains(result.status), "\(words): \(result.status) \(result.errors)")
                    #expect(result.errors.hasPrefix("accelc: error: "), "\(words): \(result.errors)")
                    #expect(result.errors.count { $0 == "\n" } == 1, "\(words): \(result.errors)")
                    #expect(ContinuousClock.now - start < .seconds(60), "\(words)")
                    for output in ["o.accelpkg", "o.safetensors", "o.mlpackage"] {
                        #expect(!FileManager.default.fileExists(atPath: "\(folder)/\(output)"), "\(words)")
                    }
                }
                let left = try FileManager.default.contentsOfDirectory(atPath: folder).filter {
                    $0.hasSuffix(".partial")
                }
                #expect(left.isEmpty)
            }
        }

        private func makeSocket(_ path: String) throws {
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            // A path of the working folder may be too long for a socket's address.
            let short = FileManager.default.temporaryDirectory.appending(
                path: "accelc-\(UInt32.random(in: .min ... .max))"
            ).path
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(short.utf8) + [0]) }
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(bound == 0)
            try FileManager.default.moveItem(atPath: short, toPath: path)
        }

        @Test(
            "A file that is cut, grows or is emptied while it is read: exit status 4, no signal, nothing half-written",
            arguments: ["cut", "empty", "grow"])
        func changed(_ change: String) throws {
            try withTemporaryFolder { folder in
                try FileManager.default.copyItem(atPath: Fixtures.path("digits"), toPath: "\(folder)/digits")
                let model = "\(folder)/digits/model.safetensors"
                let size = off_t(try Data(contentsOf: URL(filePath: model)).count)

                // Nobody reads its progress: the command stops in the middle once this small pipe is full.
                let stream = Pipe()
                _ = fcntl(stream.fileHandleForWriting.fileDescriptor, 1031 /* F_SETPIPE_SZ */, 4096)
                let process = CommandRunner.process(
                    [
                        "convert", "digits", "--shape", "batch=1,sequence=65", "--compress", "int8", "--no-cache",
                        "--threads", "1",
                        "--progress", "json", "-o", "p.accelpkg",
                    ], in: folder)
                process.standardError = stream
                process.standardOutput = FileHandle.nullDevice
                let filler = String(repeating: " ", count: 4000)
                stream.fileHandleForWriting.write(Data(filler.utf8))
                try process.run()
                var partial: [String] = []
                let deadline = Date(timeIntervalSinceNow: 60)
                while partial.isEmpty, process.isRunning, Date() < deadline {
                    usleep(2000)
                    partial = try FileManager.default.contentsOfDirectory(atPath: folder).filter {
                        $0.hasSuffix(".partial")
                    }
                }
                #expect(!partial.isEmpty)
                switch change {
                case "cut": #expect(truncate(model, size / 2) == 0)
                case "empty": #expect(truncate(model, 0) == 0)
                default: #expect(truncate(model, size + 4096) == 0)
                }
                try stream.fileHandleForWriting.close()
                let said = String(decoding: stream.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                process.waitUntilExit()
                #expect(process.terminationReason == .exit)
                #expect(process.terminationStatus == 4, "\(said.suffix(300))")
                #expect(said.contains("digits/model.safetensors"), "\(said.suffix(300))")
                let left = try FileManager.default.contentsOfDirectory(atPath: folder).filter {
                    $0.hasSuffix("partial") || $0 == "p.accelpkg"
                }
                #expect(left.isEmpty)
            }
        }
    }
#endif
