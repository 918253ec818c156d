import AccelByteIO

/// The weights whose schemes a format lacks: all of them are found before an export is rejected, so that one error names each scheme.
struct WeightRejections {
    /// A weight of each scheme and reason, in words.
    private var sentences: [(reason: String, words: String)] = []
    /// The alternatives that the error suggests, without repetition.
    private var candidates: [String] = []
    /// The reasons, by the weights' names.
    private(set) var reasons: [String: String] = [:]
    /// The schemes that an error names.
    private static let listed = 4

    /// - Parameters:
    ///   - reason: the reason that all weights of the scheme have in common.
    ///   - words: the sentence on this weight.
    ///   - candidates: the alternatives.
    mutating func add(_ name: String, _ reason: String, _ words: String, candidates: [String] = []) {
        guard reasons.updateValue(reason, forKey: name) == nil, !sentences.contains(where: { $0.reason == reason })
        else { return }
        sentences.append((reason, words))
        self.candidates = (self.candidates + candidates).distinct
    }

    /// Adds a weight by its name.
    mutating func add(_ name: String, _ scheme: UnsupportedScheme) {
        add(name, scheme.reason, "weight \(quoted(name)): \(scheme.reason)", candidates: scheme.candidates)
    }

    /// - Throws: `RequestError` if there are any.
    func reject() throws {
        guard !sentences.isEmpty else { return }
        let more = sentences.count - Self.listed
        throw RequestError(
            sentences.prefix(Self.listed).map(\.words).joined(separator: "; ")
                + (more > 0 ? "; and \(Wording.count(more, "other scheme"))" : ""),
            code: .unsupportedByFormat, candidates: candidates + [ExportOption.allowFallback.name])
    }
}
