import AccelByteIO
import AccelHostTools
import Foundation
import TestSupport
import Testing

@Suite("Helper programs")
struct HelperProcessesTests {
    @Test("a program gets all of its input and gives all of its output", arguments: [0, 1, 5_000_000])
    func whole(count: Int) throws {
        // More than a pipe or a socket holds: it must come back while it is still being read.
        let counted = try HelperProcesses.answer(
            of: "/bin/sh", ["-c", "wc -c"], input: [UInt8](repeating: 7, count: count))
        #expect(counted.status == 0)
        #expect(String(decoding: counted.output, as: UTF8.self).filter(\.isNumber) == "\(count)")
        let made = try HelperProcesses.answer(of: "/bin/sh", ["-c", "head -c \(count) /dev/zero"], input: [])
        #expect(made.status == 0 && made.output.count == count && made.output.allSatisfy { $0 == 0 })
    }

    @Test("a program that reads none of its input, or is ended by a signal, has its status, and ends nobody else")
    func unread() throws {
        let input = [UInt8](repeating: 1, count: 5_000_000)
        #expect(try HelperProcesses.answer(of: "/bin/sh", ["-c", "exit 3"], input: input).status == 3)
        #expect(try HelperProcesses.answer(of: "/bin/sh", ["-c", "kill -9 $$"], input: input).status == 128 + 9)
    }

    @Test("a program that is not there is an error that names it")
    func missing() {
        let error = #expect(throws: RequestError.self) {
            try HelperProcesses.answer(of: "/no/such/program", [], input: [])
        }
        #expect(error?.description.contains("/no/such/program") == true)
    }

    @Test("the environment goes on to a program")
    func environment() throws {
        let answer = try HelperProcesses.answer(of: "/bin/sh", ["-c", "printf %s \"$PATH\""], input: [])
        #expect(String(decoding: answer.output, as: UTF8.self) == ProcessEnvironment.value("PATH"))
    }

    @Test(
        "a program with a limited time ends by itself, by a signal, or when its time is over, with all that it has started"
    )
    func limited() throws {
        try withTemporaryFolder { folder in
            let output = "\(folder)/output"
            func end(of script: String, within seconds: Double) throws -> HelperProcesses.LimitedEnd {
                try AtomicFile.write("", to: output, as: .internal)
                return try HelperProcesses.run(
                    "/bin/sh", ["-c", script], environment: ["A": "b"], output: output, seconds: seconds)
            }
            let exited = try end(of: "echo $A; echo c >&2; exit 3", within: 60)
            #expect(exited == .exited(3))
            let text = try String(contentsOfFile: output, encoding: .utf8)
            #expect(text == "b\nc\n")
            let killed = try end(of: "kill -6 $$", within: 60)
            #expect(killed == .killed(signal: 6))
            let start = ContinuousClock.now
            let late = try end(of: "sleep 50 & sleep 60", within: 0.2)
            #expect(late == .timedOut)
            #expect(start.duration(to: .now) < .seconds(30))
        }
    }
}
