public import AccelHub

/// Requests to the Hub through the `curl` program, whose output is the answer with its head.
///
/// Addresses and credentials must not appear in the list of processes, so they are passed on standard input.
public struct CurlHubTransport: HubTransport {
    /// The environment of the program, such as the names of proxies.
    public var environment: [String: String]
    /// The limit for connecting, in seconds.
    public var connectionSeconds = 20
    /// The time in seconds after which a transfer below 1 kB/s is aborted.
    public var slowSeconds = 30

    /// Creates a transport.
    /// - Parameter environment: variables by name. Tokens in it are not passed on.
    public init(environment: [String: String]) {
        self.environment = environment.filter { $0.key != "HF_TOKEN" && $0.key != "HUGGING_FACE_HUB_TOKEN" }
    }

    public func perform(
        _ request: HubRequest, _ receive: (HubAnswerPart) throws -> Bool
    ) throws -> HubTransferEnd {
        var answer = HubAnswerReader()
        let status = try HelperProcesses.stream(
            of: "/usr/bin/env", ["curl", "-q", "--config", "-"], environment: environment,
            input: Array(configuration(of: request).utf8)
        ) { try answer.read($0, receive) }
        switch status {
        case nil: return .stopped
        case 0: return answer.hasHead ? .complete : .broken("there was no answer")
        case 5: return .unreachable("the name of the proxy is unknown")
        case 6: return .unreachable("no address of the server (no network?)")
        case 7: return .unreachable("there is no connection to the server")
        case 28:
            return answer.hasHead ? .broken("the connection is too slow") : .unreachable("the server does not answer")
        case 35, 51, 53, 54, 58, 59, 60, 66, 77, 80, 82, 83, 90, 91:
            return .unreachable("there is no secure connection to the server (curl ends with code \(status ?? 0))")
        case 127: return .noClient("curl")
        case let status?: return .broken("curl ends with code \(status)")
        }
    }

    private func configuration(of request: HubRequest) -> String {
        func quoted(_ text: String) -> String {
            "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
        var lines = [
            "url = \(quoted(request.url))", "silent", "include", "suppress-connect-headers", "globoff", "no-buffer",
            "proto = \"=http,https\"", "connect-timeout = \(connectionSeconds)", "speed-limit = 1000",
            "speed-time = \(slowSeconds)", "user-agent = \"accelc\"",
        ]
        if request.isHead { lines.append("head") }
        lines += request.headers.map { "header = \(quoted($0))" }
        return lines.joined(separator: "\n") + "\n"
    }
}
