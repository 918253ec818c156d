import AccelByteIO
import AccelPlatform

/// The server's side of one reference: requests with redirects, repetitions and errors.
struct HubServer: Sendable {
    let reference: HubReference
    let environment: HubEnvironment
    let transport: any HubTransport
    let policy: HubPolicy
    let cancellation: Cancellation

    /// An attempt that failed, and may succeed later.
    struct Setback: Error {
        var error: HubError
        /// The wait that the server asks for.
        var delay: Duration?
    }

    func error(_ code: HubError.Code, _ location: String?, expected: String? = nil, found: String? = nil) -> HubError {
        HubError(code, subject: "\(reference)", location: location, expected: expected, found: found)
    }

    /// Returns the address of a file's content.
    func url(of path: String, at commit: String) -> String {
        "\(environment.endpoint)/\(reference.repository)/resolve/\(commit)/\(HubName.escaped(path))"
    }

    // MARK: Repetitions

    /// Repeats `attempt` while it throws a `Setback`, with pauses that grow until there is progress.
    /// - Parameter progress: a number that grows with each progress.
    func repeating<Result>(progress: () -> Int, _ attempt: () throws -> Result) throws -> Result {
        var (best, failures) = (progress(), 0)
        while true {
            do {
                return try attempt()
            } catch let setback as Setback {
                if progress() > best { (best, failures) = (progress(), 0) }
                failures += 1
                guard failures < policy.attempts else { throw setback.error }
                if let delay = setback.delay, delay > policy.longestPause { throw setback.error }
                let pause = setback.delay ?? min(policy.pause * (1 << min(failures - 1, 20)), policy.longestPause)
                policy.willPause(setback.error, pause)
                try wait(pause)
            }
        }
    }

    private func wait(_ duration: Duration) throws {
        let end = ContinuousClock.now + duration
        while ContinuousClock.now < end {
            try cancellation.check()
            usleep(useconds_t(min(50_000, max(1000, (end - .now) / .microseconds(1)))))
        }
    }

    // MARK: Requests

    /// Sends a request once, and follows redirects.
    /// - Parameters:
    ///   - location: the file, for errors.
    ///   - range: the first byte, and the last one; nil for the whole content.
    ///   - receive: gets the head of a success (status 200 or 206), then the body. Returns false to end the transfer.
    /// - Throws: `Setback` if a repetition may succeed; `HubError` for all other failures; the errors of `receive`.
    func get(
        _ url: String, of location: String?, range: ClosedRange<Int>?, _ receive: (HubAnswerPart) throws -> Bool
    ) throws {
        guard var address = HubAddress(url) else { throw error(.invalidRedirect, url) }
        for _ in 0...Self.maximumRedirects {
            var request = request(address)
            if let range { request.headers.append("Range: bytes=\(range.lowerBound)-\(range.upperBound)") }
            let head = try perform(request, of: location, receive)
            guard head.isRedirect else { return try check(head, of: location) }
            address = try target(of: head, from: address)
        }
        throw error(.invalidRedirect, url, found: "more than \(Self.maximumRedirects) redirects")
    }

    /// Asks for the size and the digest of a file, which are on the first server's answer: with a redirect to another host, the
    /// file's content is there.
    func metadata(of path: String, at commit: String) throws -> HubFile {
        let url = url(of: path, at: commit)
        guard var address = HubAddress(url) else { throw error(.invalidRedirect, url) }
        for _ in 0...Self.maximumRedirects {
            var request = request(address)
            request.isHead = true
            let head = try perform(request, of: path) { _ in true }
            let isLinked = head["X-Linked-Etag"] != nil
            if head.isRedirect, !isLinked {
                address = try target(of: head, from: address)
                continue
            }
            if !head.isRedirect { try check(head, of: path) }
            guard let digest = (head["X-Linked-Etag"] ?? head["ETag"]).flatMap(ContentDigest.init) else {
                throw error(.unexpectedAnswer, path, expected: "an etag with a digest", found: head["ETag"])
            }
            let size = head.number("X-Linked-Size") ?? (head.isRedirect ? nil : head.number("Content-Length"))
            guard let size else { throw error(.unexpectedAnswer, path, expected: "a size") }
            return HubFile(path: path, byteCount: size, digest: digest)
        }
        throw error(.invalidRedirect, url, found: "more than \(Self.maximumRedirects) redirects")
    }

    private static let maximumRedirects = 8

    /// Returns a request, with the token if the address is on the server that the user has chosen.
    private func request(_ address: HubAddress) -> HubRequest {
        var request = HubRequest(url: address.text)
        if let token = environment.token, address.origin == HubAddress(environment.endpoint)?.origin {
            request.headers.append("Authorization: Bearer \(token.secret)")
        }
        return request
    }

    private func target(of head: HubAnswerHead, from address: HubAddress) throws(HubError) -> HubAddress {
        guard let target = head["Location"].flatMap(address.redirected) else {
            throw error(.invalidRedirect, address.text, found: head["Location"] ?? "none")
        }
        return target
    }

    /// Sends a request and passes on the parts of a success.
    private func perform(
        _ request: HubRequest, of location: String?, _ receive: (HubAnswerPart) throws -> Bool
    ) throws -> HubAnswerHead {
        try cancellation.check()
        var answerHead: HubAnswerHead?
        let end = try transport.perform(request) { part in
            try cancellation.check()
            if case .head(let head) = part {
                answerHead = head
                return head.isSuccess && !request.isHead ? try receive(part) : request.isHead
            }
            return try receive(part)
        }
        switch end {
        case .complete, .stopped: break
        case .broken(let reason):
            throw Setback(error: error(.interrupted, location ?? request.url, found: reason))
        case .unreachable(let reason):
            throw Setback(error: error(.noConnection, environment.endpoint, found: reason))
        case .noClient(let name): throw error(.noClient, nil, expected: name)
        }
        guard let answerHead else { throw error(.unexpectedAnswer, request.url, expected: "an answer of HTTP") }
        return answerHead
    }

    /// Throws the error for a status that is no success.
    private func check(_ head: HubAnswerHead, of location: String?) throws {
        let reason = head["X-Error-Message"] ?? "status \(head.status)"
        switch (head.status, head["X-Error-Code"]) {
        case (200, _), (206, _): return
        case (_, "GatedRepo"):
            throw error(.gated, "\(environment.endpoint)/\(reference.repository)", found: "status \(head.status)")
        case (_, "RepoNotFound"): throw error(.repositoryNotFound, nil)
        case (_, "RevisionNotFound"): throw error(.revisionNotFound, nil)
        case (_, "EntryNotFound"): throw error(.fileNotFound, location)
        case (401, _): throw error(.unauthorized, location, found: environment.token == nil ? "no token" : reason)
        case (403, _): throw error(.forbidden, location, found: reason)
        case (404, _): throw error(location == nil ? .repositoryNotFound : .fileNotFound, location)
        case (416, _): throw error(.rangeRejected, location)
        case (429, _):
            let delay = head.delay
            throw Setback(
                error: error(.rateLimited, location, found: delay.map { "a wait of \($0) s" }),
                delay: delay.map { .seconds($0) })
        case (408, _), (500..., _):
            throw Setback(error: error(.serverFailure, location, found: reason), delay: head.delay.map { .seconds($0) })
        default: throw error(.unexpectedAnswer, location, expected: "status 200 or 206", found: reason)
        }
    }
}

extension HubAnswerHead {
    fileprivate var isSuccess: Bool { status == 200 || status == 206 }
    fileprivate var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) }

    /// The wait in seconds that the server asks for: `Retry-After: 30`, or `RateLimit: "api";r=0;t=30`.
    fileprivate var delay: Int? {
        let remaining = self["RateLimit"].flatMap { limit in
            limit.split(separator: ";").map { $0.drop { $0 == " " } }.first { $0.hasPrefix("t=") }?.dropFirst(2)
        }
        return number("Retry-After") ?? remaining.flatMap { Int($0) }.map { max(0, $0) }
    }
}
