import AccelByteIO
import Foundation

/// Requests to a server, done at once by the `curl` program: a HTTP library would make each start of the tool take four
/// times as long.
///
/// What must not be seen in the list of processes (addresses, authorization) goes to the program's standard input.
struct CurlBatch {
    enum Method {
        /// Into a file; more bytes than `limit` make it fail.
        case get(into: String, limit: Int)
        case head
        case put(from: String)
    }
    struct Request {
        var url: String
        var method: Method
    }
    enum Outcome: Equatable {
        /// The server's answer.
        case status(Int)
        /// curl's exit code: no connection, too slow, cut off, too large.
        case failed(Int)
    }

    var authorization: String?
    var timeouts: Timeouts

    struct Timeouts: Sendable {
        var connect = 5
        /// Seconds in which fewer than 10 kB a second come or go.
        var slow = 15
        var total = 600
    }

    /// Does all requests.
    /// - Returns: for each how it went; nil where there is no curl.
    func run(_ requests: [Request]) -> [Outcome]? {
        if requests.isEmpty { return [] }
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        // Blocks of 512 bytes. The limit holds for each file, whatever length the server tells.
        let limit = requests.map { if case .get(_, let limit) = $0.method { limit } else { 0 } }.max() ?? 0
        process.arguments = ["-c", "ulimit -f \(limit / 512 + 2); exec curl -q --config -"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let answer = try? HelperProcesses.running {
            try process.run()
            return process.processIdentifier
        } _: { _ in
            try? input.fileHandleForWriting.write(contentsOf: Data(configuration(requests).utf8))
            try? input.fileHandleForWriting.close()
            let answer = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return String(decoding: answer, as: UTF8.self)
        }
        guard let answer, process.terminationStatus != 127 else { return nil }
        var outcomes = [Outcome](repeating: .failed(Int(process.terminationStatus)), count: requests.count)
        for line in answer.split(separator: "\n") {
            let numbers = line.split(separator: " ").compactMap { Int($0) }
            guard numbers.count == 3, outcomes.indices.contains(numbers[0]) else { continue }
            outcomes[numbers[0]] = numbers[1] == 0 ? .status(numbers[2]) : .failed(numbers[1])
        }
        return outcomes
    }

    private func configuration(_ requests: [Request]) -> String {
        func quoted(_ text: String) -> String {
            "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
        var lines = ["parallel", "parallel-max = 8"]
        for (index, request) in requests.enumerated() {
            if index > 0 { lines.append("next") }
            lines += [
                "url = \(quoted(request.url))", "silent", "proto = \"=http,https\"", "header = \"Expect:\"",
                "connect-timeout = \(timeouts.connect)", "max-time = \(timeouts.total)", "speed-limit = 10000",
                "speed-time = \(timeouts.slow)", "write-out = \"\(index) %{exitcode} %{http_code}\\n\"",
            ]
            if let authorization { lines.append("header = \(quoted("Authorization: \(authorization)"))") }
            switch request.method {
            case .get(let path, let limit):
                lines += ["output = \(quoted(path))", "max-filesize = \(max(1, limit))"]
            case .head: lines += ["head", "output = \"/dev/null\""]
            case .put(let path): lines += ["upload-file = \(quoted(path))", "output = \"/dev/null\""]
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
