import AccelByteIO

/// A regular expression or a plain string that is searched in texts.
struct Pattern: Sendable {
    private let kind: Kind

    private enum Kind: Sendable {
        case text([UInt8])
        case program(PatternProgram)
    }

    /// A string that is searched as it is.
    init(text: String) {
        // An empty string is found at every place, as an empty expression is.
        if text.isEmpty, let compiler = try? PatternCompiler(.sequence([])) {
            kind = .program(compiler.program)
        } else {
            kind = .text(Array(text.utf8))
        }
    }

    /// The string that is searched; nil for an expression.
    var plainText: [UInt8]? {
        guard case .text(let text) = kind else { return nil }
        return text
    }

    /// - Throws: `FormatError` at `field` that names an unsupported construct and its position.
    init(expression: String, _ field: JSONField) throws {
        do throws(PatternProblem) {
            var parser = PatternParser(expression)
            kind = .program(try PatternCompiler(try parser.parse()).program)
        } catch let problem {
            throw field.error(
                "the pattern cannot be used, character \(problem.position + 1): \(problem.reason)")
        }
    }

    /// Calls `body` with each match, in order. Matches do not overlap.
    /// - Parameter text: valid UTF-8.
    func matches(in text: UnsafeBufferPointer<UInt8>, _ scratch: inout PatternScratch, _ body: (Range<Int>) -> Void) {
        switch kind {
        case .program(let program): PatternMatcher.matches(of: program, in: text, &scratch, body)
        case .text(let wanted):
            guard let first = wanted.first else { return }
            var start = 0
            while start + wanted.count <= text.count {
                if text[start] == first,
                    wanted.indices.allSatisfy({ text[start + $0] == wanted[$0] })
                {
                    body(start..<start + wanted.count)
                    start += wanted.count
                } else {
                    start += 1
                }
            }
        }
    }
}
