import Foundation
import TestSupport
import Testing

#if !os(macOS)
    /// Daemons and shells may close the standard descriptors (`<&-`).
    @Suite("Closed standard descriptors")
    struct StandardDescriptorTests {
        private func run(_ words: String, _ closed: String, in folder: String) throws -> Int32 {
            let process = CommandRunner.process([], in: folder)
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments = ["-c", "exec \"$0\" \(words) \(closed)", CommandRunner.executable.path]
            try process.run()
            process.waitUntilExit()
            return process.terminationReason == .exit ? process.terminationStatus : -1
        }

        @Test(
            "no file gets their numbers: outputs are whole, and what cannot be printed or read is an error",
            arguments: ["<&-", "2>&-", "<&- 2>&-", ">&- 2>&-", "<&- >&-", "<&- >&- 2>&-"])
        func closed(_ closed: String) throws {
            try withTemporaryFolder { folder in
                let convert = "convert '\(Fixtures.path("bert_base"))' --shape batch=1,sequence=8 --no-cache"
                let isPrinting = !" \(closed)".contains(" >&-")
                let status = try run("\(convert) -o p.accelpkg", closed, in: folder)
                #expect(status == (isPrinting ? 0 : 3))
                #expect(
                    try CommandRunner.run(["verify", "p.accelpkg", "--only", "container", "-q"], in: folder).status == 0
                )
                // Standard input is no text where it is closed.
                if closed.contains("<&-") {
                    #expect(try run("run '\(Fixtures.path("characters"))' --audio -", closed, in: folder) == 3)
                }
            }
        }
    }
#endif
