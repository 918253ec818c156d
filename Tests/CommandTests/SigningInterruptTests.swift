#if os(Linux)
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    /// Signing waits for a program, which may wait for a person.
    @Suite("Signing, interrupted")
    struct SigningInterruptTests {
        /// A package and a key with a passphrase; `ask` is a program that is asked for it, notes who it is and waits for ever.
        private func withLockedKey(_ body: (_ folder: String) throws -> Void) throws {
            try withTemporaryFolder { folder in
                let convert = [
                    "convert", Fixtures.path("digits"), "--shape", "batch=1,sequence=65", "-q", "-o", "p.accelpkg",
                ]
                #expect(try CommandRunner.run(convert, in: folder).status == 0)
                let ask =
                    "#!/bin/sh\necho $$ $PPID >\(folder)/.asked\nmv \(folder)/.asked \(folder)/asked\nexec sleep 300\n"
                try ask.write(toFile: "\(folder)/ask", atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: "\(folder)/ask")
                let keygen = Process()
                keygen.executableURL = URL(filePath: "/usr/bin/env")
                keygen.arguments = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", "\(folder)/key"]
                keygen.standardOutput = FileHandle.nullDevice
                try keygen.run()
                keygen.waitUntilExit()
                #expect(keygen.terminationStatus == 0)
                try body(folder)
            }
        }

        /// Whether there is such a process, which is more than an exit status that nobody has asked for.
        private func isRunning(_ number: String) -> Bool {
            guard let status = try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8) else {
                return false
            }
            return status.split(separator: ")").last?.split(separator: " ").first != "Z"
        }

        @Test(
            "A signature that waits for a passphrase ends within a second, with the programs that wait",
            .enabled(if: SigningTests.hasKeygen, "ssh-keygen is not installed"), arguments: [SIGINT, SIGTERM, 0])
        func interrupted(_ signal: Int32) throws {
            try withLockedKey { folder in
                let words = ["sign", "p.accelpkg", "--key", "key"] + (signal == 0 ? ["--timeout", "4"] : [])
                let process = CommandRunner.process(
                    words, in: folder,
                    environment: [
                        "SSH_ASKPASS": "\(folder)/ask", "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0",
                        "TMPDIR": folder,
                    ])
                process.standardOutput = FileHandle.nullDevice
                process.standardError = FileHandle.nullDevice
                let start = ContinuousClock.now
                try process.run()
                while !FileManager.default.fileExists(atPath: "\(folder)/asked"), process.isRunning { usleep(5000) }
                let asked = try String(contentsOfFile: "\(folder)/asked", encoding: .utf8).split(
                    whereSeparator: \.isWhitespace)
                #expect(asked.count == 2 && asked.allSatisfy { isRunning(String($0)) })

                let interrupt = signal == 0 ? start + .seconds(4) : ContinuousClock.now
                if signal != 0 { kill(process.processIdentifier, signal) }
                process.waitUntilExit()
                // A second, and what a busy machine adds.
                #expect(ContinuousClock.now - interrupt < .seconds(5))
                #expect(process.terminationReason == .exit && process.terminationStatus == 130)
                let deadline = Date(timeIntervalSinceNow: 5)
                while asked.contains(where: { isRunning(String($0)) }), Date() < deadline { usleep(5000) }
                #expect(asked.allSatisfy { !isRunning(String($0)) }, "the programs go on")
                let left = try FileManager.default.contentsOfDirectory(atPath: folder)
                #expect(left.allSatisfy { !$0.hasSuffix(".sig") && !$0.hasSuffix(".partial") }, "\(left)")
            }
        }

        private static let hasScript = FileManager.default.isExecutableFile(atPath: "/usr/bin/script")

        @Test(
            "A passphrase is asked for on the terminal, and the right one signs",
            .enabled(if: SigningTests.hasKeygen && hasScript, "ssh-keygen or script is not installed"))
        func terminal() throws {
            try withLockedKey { folder in
                let process = Process()
                process.executableURL = URL(filePath: "/usr/bin/script")
                process.currentDirectoryURL = URL(filePath: folder)
                process.arguments = [
                    "-qec", "'\(CommandRunner.executable.path)' sign p.accelpkg --key key", "/dev/null",
                ]
                process.environment = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "HOME": folder]
                let keyboard = Pipe()
                process.standardInput = keyboard
                let screen = URL(filePath: "\(folder)/screen")
                try Data().write(to: screen)
                process.standardOutput = try FileHandle(forWritingTo: screen)
                process.standardError = FileHandle.nullDevice
                try process.run()
                func shown() throws -> String { String(decoding: try Data(contentsOf: screen), as: UTF8.self) }
                let deadline = Date(timeIntervalSinceNow: 60)
                while try !shown().contains("passphrase"), process.isRunning, Date() < deadline { usleep(5000) }
                try keyboard.fileHandleForWriting.write(contentsOf: Data("secret\n".utf8))
                while process.isRunning, Date() < deadline { usleep(5000) }
                let isOver = !process.isRunning
                if !isOver { process.terminate() }
                process.waitUntilExit()
                let last = try shown()
                #expect(isOver && process.terminationStatus == 0, "\(last)")
                #expect(FileManager.default.fileExists(atPath: "\(folder)/p.accelpkg.sig"))
                #expect(!last.contains("secret"))
            }
        }
    }
#endif
