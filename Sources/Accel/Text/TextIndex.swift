/// Texts with their vectors, in which those that mean the same as another text are found.
///
///     let index = try await TextIndex(words, by: model)
///     for match in try await index.nearest(to: "a question", count: 3) { print(match.score, match.text) }
public struct TextIndex: Sendable {
    /// A text of the index.
    public struct Match: Equatable, Sendable {
        /// Its place among the texts, from 0.
        public let index: Int
        /// The text.
        public let text: String
        /// The cosine of the angle between both vectors, -1 to 1; 0 for a vector of zeros.
        public let score: Float
    }

    /// The texts, in their order.
    public let texts: [String]
    private let model: AccelModel
    private let truncates: Bool
    /// Each has the length 1, or is zero.
    private let vectors: [[Float]]

    /// Computes the vectors of texts, by a model such as a sentence encoder.
    /// - Parameter truncates: texts that are too long lose their end; otherwise they are an error.
    /// - Throws: as `AccelModel.embed(_:truncates:)`.
    public init(_ texts: [String], by model: AccelModel, truncates: Bool = false) async throws(AccelError) {
        (self.texts, self.model, self.truncates) = (texts, model, truncates)
        vectors = try await model.embed(texts, truncates: truncates).map(Self.unit)
    }

    /// Returns the texts that are nearest to another one, the nearest first. Of equal ones the earlier is first.
    /// - Throws: as `AccelModel.embed(_:truncates:)`.
    public func nearest(to text: String, count: Int = 5) async throws(AccelError) -> [Match] {
        let wanted = Self.unit(try await model.embed(text: text, truncates: truncates))
        let scores = vectors.map { vector in zip(vector, wanted).reduce(Float(0)) { $0 + $1.0 * $1.1 } }
        return scores.indices.sorted { (scores[$1], $0) < (scores[$0], $1) }.prefix(max(count, 0)).map {
            Match(index: $0, text: texts[$0], score: scores[$0])
        }
    }

    private static func unit(_ vector: [Float]) -> [Float] {
        let length = vector.reduce(Float(0)) { $0 + $1 * $1 }.squareRoot()
        return length > 0 ? vector.map { $0 / length } : vector
    }
}
