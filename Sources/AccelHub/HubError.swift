public import AccelByteIO

/// An error of a download from the Hub, as data. The description is one sentence of what and where.
public struct HubError: ReportedError, Equatable {
    /// The kind of the error.
    public enum Code: String, CaseIterable, Sendable {
        /// The text is not a reference.
        case invalidReference
        /// An environment variable has a value that cannot be used.
        case invalidEnvironment
        /// The server wants a token, or rejects the one that it got (status 401).
        case unauthorized
        /// The owner has to grant access to this repository first.
        case gated
        /// The server denies access (status 403).
        case forbidden
        /// The server has no such repository.
        case repositoryNotFound
        /// The repository has no such revision, or the commit has vanished.
        case revisionNotFound
        /// The commit has no such file.
        case fileNotFound
        /// The server does not send the requested range (status 416).
        case rangeRejected
        /// The server asks for a longer wait than the limit, or again and again (status 429).
        case rateLimited
        /// The server fails (status 500 and above).
        case serverFailure
        /// The server cannot be reached.
        case noConnection
        /// The connection broke several times in a row.
        case interrupted
        /// The answer ended too early several times in a row.
        case truncated
        /// The file has another size than the repository declares.
        case sizeMismatch
        /// The content of the file has another digest than the repository declares.
        case digestMismatch
        /// The server leads to an address that is not used, such as a plain http one behind https.
        case invalidRedirect
        /// The answer is not one of the Hub's.
        case unexpectedAnswer
        /// The disk is full, or has too little space for the download.
        case noSpace
        /// A file of the cache cannot be read or written.
        case cacheFailure
        /// No request is allowed, and the cache does not have the files.
        case offline
        /// The repository has no weights that can be read.
        case noWeights
        /// Several files fit.
        case severalFiles
        /// The program that performs requests is missing.
        case noClient
    }

    /// The kind of the error.
    public var code: Code
    /// The reference, or the environment variable.
    public var subject: String
    /// The file of the repository, the path in the cache, or the address; nil for the subject as a whole.
    public var location: String?
    /// The expected value; nil if the code implies it.
    public var expected: String?
    /// The found value; nil if the code implies it.
    public var found: String?
    /// The files to choose from.
    public var candidates: [String]

    /// Creates an error.
    public init(
        _ code: Code, subject: String, location: String? = nil, expected: String? = nil, found: String? = nil,
        candidates: [String] = []
    ) {
        (self.code, self.subject, self.location) = (code, subject, location)
        (self.expected, self.found, self.candidates) = (expected, found, candidates)
    }

    public var exitStatus: ExitStatus {
        switch code {
        case .invalidReference, .invalidEnvironment, .severalFiles: .usage
        case .sizeMismatch, .digestMismatch, .unexpectedAnswer: .corrupt
        default: .unavailable
        }
    }

    public var parts: [JSON.Member] {
        let texts = [("location", location), ("expected", expected), ("found", found)]
        return [.init("reason", .string(code.rawValue)), .init("subject", .string(subject))]
            + texts.compactMap { name, text in text.map { .init(name, .string($0)) } }
            + (candidates.isEmpty ? [] : [.init("candidates", .array(candidates.map { .string($0) }))])
    }

    public var description: String {
        let place = location.map { "\(subject), \($0)" } ?? subject
        var facts = [expected.map { "expected \($0)" }, found.map { "found \($0)" }].compactMap { $0 }
        if !candidates.isEmpty { facts.append(Wording.listed(candidates, most: 12)) }
        return "\(place): \(sentence)\(facts.isEmpty ? "" : ": ")\(facts.joined(separator: ", "))"
    }

    private var sentence: String {
        switch code {
        case .invalidReference: "this is not a reference to the Hub"
        case .invalidEnvironment: "the environment variable cannot be used"
        case .unauthorized: "the Hub requires a valid token (status 401)"
        case .gated: "the repository is gated, and this user has no access yet"
        case .forbidden: "the Hub denies access (status 403)"
        case .repositoryNotFound: "the Hub has no such repository, or it is private"
        case .revisionNotFound: "the repository has no such revision"
        case .fileNotFound: "the repository has no such file"
        case .rangeRejected: "the Hub does not send this range of bytes (status 416)"
        case .rateLimited: "the Hub limits the rate of requests (status 429)"
        case .serverFailure: "the Hub fails"
        case .noConnection: "the Hub cannot be reached"
        case .interrupted: "the connection broke repeatedly"
        case .truncated: "the Hub repeatedly sent too few bytes"
        case .sizeMismatch: "the file has another size"
        case .digestMismatch: "the file has another digest"
        case .invalidRedirect: "the Hub redirects to an unusable address"
        case .unexpectedAnswer: "this is not an answer of the Hub"
        case .noSpace: "the disk has too little space"
        case .cacheFailure: "the cache cannot be used"
        case .offline: "the cache lacks the file, and requests are not allowed"
        case .noWeights: "the repository has neither safetensors nor GGUF files to take"
        case .severalFiles: "several files fit, name one of them"
        case .noClient: "no program for requests is installed"
        }
    }
}
