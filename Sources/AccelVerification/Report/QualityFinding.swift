import AccelByteIO

/// The quality of a package on a text, in the figures that the field compares models by.
public struct QualityFinding: Sendable {
    /// A figure, with that of the original model where it has one of its own.
    public struct Figure: Sendable {
        /// The kind of a figure; its raw value is its name in JSON and in budgets.
        public enum Kind: String, CaseIterable, Sendable {
            /// The exponential of the mean negative log-likelihood of tokens.
            case perplexity
            /// The perplexity divided by the original's.
            case perplexityRatio
            /// The mean Kullback-Leibler divergence from the original's distributions of tokens, in nats.
            case klDivergence
            /// The 99th percentile of the divergences.
            case klDivergence99
            /// The largest divergence.
            case klDivergenceMaximum
            /// The share of positions whose likeliest token is the original's.
            case equalTopTokens
            /// The mean negative log-likelihood of masked tokens, in nats.
            case maskedLoss
            /// The mean cosine of embeddings and the original's.
            case cosine
            /// The least of these cosines.
            case leastCosine
            /// The rank correlation of the similarities of all pairs of texts with the original's.
            case rankCorrelation
            /// The share of texts, or of their tokens, with the original's class.
            case equalLabels

            /// The words in tables.
            public var title: String {
                switch self {
                case .perplexity: "perplexity"
                case .perplexityRatio: "perplexity, ratio"
                case .klDivergence: "KL divergence, mean"
                case .klDivergence99: "KL divergence, 99th percentile"
                case .klDivergenceMaximum: "KL divergence, maximum"
                case .equalTopTokens: "equal top tokens"
                case .maskedLoss: "loss at masked tokens"
                case .cosine: "cosine of embeddings, mean"
                case .leastCosine: "cosine of embeddings, least"
                case .rankCorrelation: "rank correlation of similarities"
                case .equalLabels: "equal labels"
                }
            }

            /// The limit of a package where the budget has none: beyond it, the package's answers have little to do with the model's. Four
            /// bits without calibration stay far away from it. Nil for figures that depend on the text, or without a meaningful scale.
            var usualLimit: Double? {
                switch self {
                case .perplexityRatio: 2
                case .cosine, .equalLabels, .rankCorrelation: 0.5
                default: nil
                }
            }

            /// Larger values are better, so that a budget sets the least one.
            public var isLeast: Bool {
                switch self {
                case .equalTopTokens, .cosine, .leastCosine, .rankCorrelation, .equalLabels: true
                default: false
                }
            }
        }

        /// The kind of the figure.
        public let kind: Kind
        /// The value of the package.
        public let value: Double
        /// The value of the original; nil for a figure that compares both.
        public let original: Double?

        /// Creates a figure.
        public init(_ kind: Kind, _ value: Double, original: Double? = nil) {
            (self.kind, self.value, self.original) = (kind, value, original)
        }
    }

    /// The text and how much of it was read, e.g. `wiki.txt, 16 chunks of 512 tokens`.
    public let text: String
    /// The figures, the most important one first.
    public let figures: [Figure]

    /// Creates a finding.
    public init(text: String, figures: [Figure]) { (self.text, self.figures) = (text, figures) }

    /// Returns the figure of a kind; nil if the model has none.
    public func figure(_ kind: Figure.Kind) -> Double? { figures.first { $0.kind == kind }?.value }

    var json: JSON {
        .object(
            [.init("text", .string(text))]
                + figures.map { figure in
                    .init(
                        figure.kind.rawValue,
                        [
                            "value": .figure(figure.value),
                            "original": figure.original.map(JSON.figure) ?? .null,
                        ])
                })
    }

    /// Rows of a table: title, value, the original's value.
    var rows: [[String]] {
        figures.map { figure in
            [figure.kind.title, Self.words(figure.value), figure.original.map { Self.words($0) } ?? ""]
        }
    }

    private static func words(_ value: Double) -> String {
        let size = abs(value)
        return NumberText.fixed(value, digits: size >= 100 ? 1 : size >= 10 ? 2 : size >= 0.01 ? 4 : 6)
    }
}
