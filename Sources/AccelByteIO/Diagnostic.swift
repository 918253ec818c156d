/// An error or a warning as data: one sentence of what and where, and the parts of it for programs.
///
/// Libraries name no option of the tool, because apps get their diagnostics too. The tool has one table of remedies by code.
public struct Diagnostic: Equatable, Sendable {
    /// The kind of a diagnostic: a name of lower-case words, such as `states-without-cache`. It stays the same when the sentence changes.
    public struct Code: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral name: String) { self.rawValue = name }
    }

    /// The sentence of what and where.
    public var text: String
    /// The kind; nil where programs need none.
    public var code: Code?
    /// The name of the file, tensor, function or rule; nil if the sentence alone has it.
    public var subject: String?
    /// The needed type, shape, version or number.
    public var expected: String?
    /// The found type, shape, version or number.
    public var found: String?
    /// The names or values that are possible instead, the most likely first.
    public var candidates: [String]

    /// Creates a diagnostic.
    public init(
        _ text: String, code: Code? = nil, subject: String? = nil, expected: String? = nil, found: String? = nil,
        candidates: [String] = []
    ) {
        self.text = text
        self.code = code
        self.subject = subject
        self.expected = expected
        self.found = found
        self.candidates = candidates
    }

    /// The parts for programs, without the sentence.
    package var parts: [JSON.Member] {
        let texts = [
            ("problem", code?.rawValue), ("subject", subject), ("expected", expected), ("found", found),
        ]
        return texts.compactMap { name, text in text.map { JSON.Member(name, .string($0)) } }
            + (candidates.isEmpty ? [] : [.init("candidates", .array(candidates.map(JSON.string)))])
    }
}

extension Diagnostic: CustomStringConvertible {
    public var description: String { text }
}

/// A sentence is a diagnostic without a code.
extension Diagnostic: ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) { self.init(text) }
}
