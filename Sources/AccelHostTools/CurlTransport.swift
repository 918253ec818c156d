import AccelByteIO
public import AccelPackages

/// HTTP requests through the `curl` program, several at once. Linking a HTTP library would slow every start of the tool
/// by a factor of four.
///
/// Addresses and credentials must not appear in the list of processes, so they are passed on standard input.
public struct CurlTransport: RemoteTransport {
    /// The time limits of requests.
    public struct Timeouts: Sendable {
        /// The limit for connecting, in seconds.
        public var connect = 5
        /// The time in seconds after which a transfer below 10 kB/s is aborted.
        public var slow = 15
        /// The limit for a whole transfer, in seconds.
        public var total = 600

        /// Creates the default limits.
        public init() {}
    }

    /// The time limits of each request.
    public var timeouts: Timeouts

    /// Creates a transport.
    public init(timeouts: Timeouts = Timeouts()) { self.timeouts = timeouts }

    /// Runs requests in parallel, and returns their outcomes in order; nil if `curl` cannot be started.
    public func run(_ requests: [RemoteRequest], authorization: String?) -> [RemoteOutcome]? {
        if requests.isEmpty { return [] }
        // In blocks of 512 bytes. The limit holds for each file, whatever size the server announces.
        let limit = requests.map { if case .get(_, let limit) = $0.method { limit } else { 0 } }.max() ?? 0
        let answer = try? HelperProcesses.answer(
            of: "/bin/sh", ["-c", "ulimit -f \(limit / 512 + 2); exec curl -q --config -"],
            input: Array(configuration(requests, authorization).utf8))
        guard let answer, answer.status != 127 else { return nil }
        var outcomes = [RemoteOutcome](repeating: outcome(ofCode: answer.status), count: requests.count)
        for line in String(decoding: answer.output, as: UTF8.self).split(separator: "\n") {
            let numbers = line.split(separator: " ").compactMap { Int($0) }
            guard numbers.count == 3, outcomes.indices.contains(numbers[0]) else { continue }
            outcomes[numbers[0]] = numbers[1] == 0 ? .status(numbers[2]) : outcome(ofCode: numbers[1])
        }
        return outcomes
    }

    /// Returns the outcome for an exit code of `curl`.
    private func outcome(ofCode code: Int) -> RemoteOutcome {
        switch code {
        // Partial transfer; write error, as by `ulimit`; larger than `max-filesize`.
        case 18, 23, 63: .incomplete
        case 6, 7: .failed("there is no connection to it")
        case 28:
            .failed(
                "it is too slow (no connection within \(timeouts.connect) s, less than 10 kB/s for \(timeouts.slow) s, or more than "
                    + "\(timeouts.total) s in all)")
        default: .failed("curl ends with code \(code)")
        }
    }

    private func configuration(_ requests: [RemoteRequest], _ authorization: String?) -> String {
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
