import AccelByteIO
import AccelFrontEnds
import AccelPrograms
import AccelText

/// A part of a text with the likeliest class of its token.
public struct LabelledToken: Equatable, Sendable {
    /// The part of the text, in bytes of its UTF-8.
    public let range: Range<Int>
    /// The class and its probability.
    public let label: ScoredLabel
}

/// A token that may replace a mask.
public struct MaskFilling: Equatable, Sendable {
    /// The text of the token.
    public let token: String
    /// The probability, from 0 to 1.
    public let score: Float
}

extension AccelModel {
    /// Returns a vector for each text: the model's embedding, else the mean of its hidden states over the tokens. The prompt that the
    /// model's author puts before texts by default is before each.
    /// - Parameters:
    ///   - truncates: texts that are too long lose their end; otherwise they are an error.
    ///   - timeLimit: the time for all texts; nil for no limit.
    /// - Throws: `AccelError`: (unsupported) if the package has no tokenizer, or no function that takes whole texts; (invalid) for a text
    ///   that is too long; (cancelled), and (timed out) once the time limit is over.
    public func embed(
        _ texts: [String], truncates: Bool = false, timeLimit: Duration? = nil
    ) async throws(AccelError) -> [[Float]] {
        try await embed(texts, truncates: truncates, timeLimit: timeLimit, numberedFrom: 1)
    }

    /// - Parameter first: the number of the first text, for errors.
    func embed(
        _ texts: [String], truncates: Bool, timeLimit: Duration?, numberedFrom first: Int
    ) async throws(AccelError) -> [[Float]] {
        let deadline = Deadline.started(after: timeLimit)
        let functions = try TextFunctions(self, outputs: [.embedding, .hiddenStates], for: "vectors")
        let prompt = try text().defaultPrompt
        let encodings = try functions.encodings(
            texts.map { (prompt + $0, nil) }, truncates: truncates, numberedFrom: first)
        var vectors = [[Float]](repeating: [], count: texts.count)
        try await functions.run(encodings, until: deadline) { function, outputs, row, index throws(AccelError) in
            guard let output = function.description.output(.embedding, .hiddenStates) else { return }
            let values = try outputs[output.name].row(row)
            guard output.role.kind == .hiddenStates else {
                vectors[index] = values
                return
            }
            let (width, count) = (output.shape.dimensions.last ?? 1, encodings[index].ids.count)
            vectors[index] = (0..<width).map { column in
                (0..<count).reduce(Float(0)) { $0 + values[$1 * width + column] } / Float(max(count, 1))
            }
        }
        return vectors
    }

    /// The numbers of the vectors that `embed` returns.
    /// - Throws: `AccelError` (unsupported) if the package has no tokenizer, or no function that takes whole texts.
    public func embeddingWidth() throws(AccelError) -> Int {
        let functions = try TextFunctions(self, outputs: [.embedding, .hiddenStates], for: "vectors")
        return functions.functions[0].description.output(.embedding, .hiddenStates)?.shape.dimensions.last ?? 0
    }

    /// Returns a vector of a text.
    /// - Parameters: as for `embed(_:truncates:timeLimit:)`.
    public func embed(
        text: String, truncates: Bool = false, timeLimit: Duration? = nil
    ) async throws(AccelError) -> [Float] {
        try await embed([text], truncates: truncates, timeLimit: timeLimit)[0]
    }

    /// Returns the classes of each text, or pair of texts, with their probabilities, the likeliest one first. A model with one class, such as
    /// a reranker, gives a score from 0 to 1; one whose author says so gives independent probabilities, or the logits.
    /// - Throws: as `embed`.
    public func classify(
        _ texts: [(text: String, second: String?)], truncates: Bool = false
    ) async throws(AccelError) -> [[ScoredLabel]] {
        let functions = try TextFunctions(self, outputs: [.logits], for: "scores of classes")
        let encodings = try functions.encodings(texts, truncates: truncates)
        let (labels, kind) = (try text().labels, try text().scores)
        var results = [[ScoredLabel]](repeating: [], count: texts.count)
        try await functions.run(encodings) { function, outputs, row, index throws(AccelError) in
            guard let output = function.description.output(.logits), output.shape.rank == 2 else {
                throw AccelError(.unsupported, "the logits are not those of whole texts", at: self.package.path)
            }
            results[index] = .init(try outputs[output.name].row(row), labels, by: kind)
        }
        return results
    }

    /// Returns the class of each token of a text; special tokens are left out.
    /// - Throws: as `embed`.
    public func label(tokensOf text: String, truncates: Bool = false) async throws(AccelError) -> [LabelledToken] {
        let functions = try TextFunctions(self, outputs: [.logits], for: "scores of classes")
        let encodings = try functions.encodings([(text, nil)], truncates: truncates)
        let labels = try self.text().labels
        var results: [LabelledToken] = []
        try await functions.tokenLogits(of: encodings[0]) { logits throws(AccelError) in
            for (position, range) in encodings[0].offsets.enumerated() where !range.isEmpty {
                let scores = softmax(logits(position))
                let best = scores.indices.max { scores[$0] < scores[$1] } ?? 0
                results.append(
                    LabelledToken(range: range, label: ScoredLabel(label: labels.name(best), score: scores[best])))
            }
        }
        return results
    }

    /// Returns the likeliest tokens for each mask of a text, such as `[MASK]`.
    /// - Throws: as `embed`; `AccelError` (invalid) for a text without a mask.
    public func fill(masksOf text: String, count: Int = 5, truncates: Bool = false) async throws(AccelError)
        -> [[MaskFilling]]
    {
        let frontEnd = try self.text()
        let functions = try TextFunctions(self, outputs: [.logits], for: "scores of tokens")
        let encodings = try functions.encodings([(text, nil)], truncates: truncates)
        let name = frontEnd.specialToken("mask_token") ?? "[MASK]"
        guard let mask = frontEnd.tokenizer.tokenID(of: name), encodings[0].ids.contains(mask) else {
            throw AccelError(.invalid, "the text has no \(name)", at: package.path)
        }
        var results: [[MaskFilling]] = []
        try await functions.tokenLogits(of: encodings[0]) { logits throws(AccelError) in
            for (position, id) in encodings[0].ids.enumerated() where id == mask {
                let scores = softmax(logits(position))
                let best = scores.indices.sorted { scores[$0] > scores[$1] }.prefix(count)
                results.append(
                    best.map {
                        MaskFilling(
                            token: frontEnd.tokenizer.decode([TokenID($0)], skipSpecialTokens: false), score: scores[$0]
                        )
                    })
            }
        }
        return results
    }
}

extension AccelModel {
    /// Returns the logits at tokens of a text that are masked, with the tokens that were there.
    /// - Parameter step: each `step`-th token of the text is masked, special ones excepted.
    /// - Throws: as `embed`; `AccelError` (unsupported) for a tokenizer without a mask.
    package func maskedLogits(
        of text: String, each step: Int
    ) async throws(AccelError) -> [(token: Int, logits: [Float])] {
        let frontEnd = try self.text()
        let functions = try TextFunctions(self, outputs: [.logits], for: "scores of tokens")
        var encodings = try functions.encodings([(text, nil)], truncates: true)
        guard let mask = frontEnd.specialToken("mask_token").flatMap(frontEnd.tokenizer.tokenID) else {
            throw AccelError(.unsupported, "the tokenizer has no mask", at: package.path)
        }
        let positions = encodings[0].ids.indices.filter { !encodings[0].offsets[$0].isEmpty }
            .enumerated().filter { ($0.offset + 1) % step == 0 }.map(\.element)
        let tokens = positions.map { Int(encodings[0].ids[$0]) }
        for position in positions { encodings[0].ids[position] = mask }
        var rows: [[Float]] = []
        try await functions.tokenLogits(of: encodings[0]) { logits throws(AccelError) in
            rows = positions.map { Array(logits($0)) }
        }
        return zip(tokens, rows).map { ($0, $1) }
    }
}

extension TextFunctions {
    /// Calls `body` with the logits of each token of a text, by its position.
    /// - Throws: `AccelError` (unsupported) if the model has one row of logits for a text.
    fileprivate func tokenLogits(
        of encoding: Encoding, _ body: ((_ position: Int) -> ArraySlice<Float>) throws(AccelError) -> Void
    ) async throws(AccelError) {
        try await run([encoding]) { function, outputs, row, _ throws(AccelError) in
            guard let output = function.description.output(.logits), output.shape.rank == 3 else {
                throw AccelError(.unsupported, "the logits are not those of tokens", at: outputs.function)
            }
            let (values, width) = (try outputs[output.name].row(row), output.shape.dimensions[2])
            try body { values[$0 * width..<($0 + 1) * width] }
        }
    }

    fileprivate func encodings(
        _ texts: [(text: String, second: String?)], truncates: Bool, numberedFrom first: Int = 1
    ) throws(AccelError) -> [Encoding] {
        var encodings: [Encoding] = []
        for (index, (text, second)) in texts.enumerated() {
            let made = try encoding(of: text, with: second, truncates: truncates, number: first + index)
            encodings.append(made.encoding)
        }
        return encodings
    }
}
