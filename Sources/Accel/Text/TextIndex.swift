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
    public private(set) var texts: [String] = []
    private let model: AccelModel
    private let truncates: Bool
    /// Each has the length 1, or is zero.
    private var vectors: [[Float]] = []

    /// Computes the vectors of texts, by a model such as a sentence encoder.
    /// - Parameters:
    ///   - truncates: texts that are too long lose their end; otherwise they are an error.
    ///   - timeLimit: the time for all vectors; nil for no limit.
    /// - Throws: as `AccelModel.embed(_:truncates:timeLimit:)`.
    public init(
        _ texts: [String], by model: AccelModel, truncates: Bool = false, timeLimit: Duration? = nil
    ) async throws(AccelError) {
        self.init(by: model, truncates: truncates)
        try await append(texts, timeLimit: timeLimit)
    }

    /// Creates an index without texts.
    /// - Parameter truncates: texts that are too long lose their end; otherwise they are an error.
    public init(by model: AccelModel, truncates: Bool = false) { (self.model, self.truncates) = (model, truncates) }

    /// Computes the vectors of further texts. Many texts, such as the lines of a file, can be added some at a time: `texts` are those that
    /// are done.
    /// - Parameter timeLimit: the time for these vectors; nil for no limit.
    /// - Throws: as `AccelModel.embed(_:truncates:timeLimit:)`. Then nothing has changed.
    public mutating func append(_ more: [String], timeLimit: Duration? = nil) async throws(AccelError) {
        let added = try await model.embed(
            more, truncates: truncates, timeLimit: timeLimit, numberedFrom: texts.count + 1)
        texts += more
        vectors += added.map(Self.unit)
    }

    /// Returns the texts that are nearest to another one, the nearest first. Of equal ones the earlier is first.
    /// - Parameter timeLimit: the time for the vector of the text; nil for no limit.
    /// - Throws: as `AccelModel.embed(_:truncates:timeLimit:)`.
    public func nearest(
        to text: String, count: Int = 5, timeLimit: Duration? = nil
    ) async throws(AccelError) -> [Match] {
        let wanted = Self.unit(try await model.embed(text: text, truncates: truncates, timeLimit: timeLimit))
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
