extension Role {
    /// The role of a port of which nothing is known.
    public static let opaque = Role(.opaque)

    /// The number that stands everywhere in an input that may be left out, as in transformers: 1 for an attention mask, 0 for token
    /// types; nil for other inputs.
    public var standIn: Int64? {
        switch kind {
        case .attentionMask: 1
        case .tokenTypes: 0
        default: nil
        }
    }

    /// The meaning of the values of an attention mask.
    public enum MaskConvention: String, Sendable {
        /// 1 for positions that take part, 0 for padding.
        case onesCount = "ones-count"
    }
    /// The distribution of noise.
    public enum Distribution: String, Sendable {
        /// Gaussian, with mean 0 and variance 1.
        case normal
        /// Uniform from 0 to 1.
        case uniform
    }
    /// The meaning of the last dimension of logits.
    public enum Classes: String, Sendable {
        /// Tokens of the vocabulary.
        case vocabulary
        /// Labels of a classifier.
        case labels
        /// The positions of a text.
        case positions
        /// The texts of a batch, for each image.
        case texts
        /// The texts of a group, of which one is chosen.
        case choices
        /// The durations of a token, in frames.
        case durations
    }
    /// The keys or the values of an attention layer.
    public enum AttentionHalf: String, Sendable {
        /// The keys.
        case keys
        /// The values.
        case values
    }
    /// Pixel normalisation: `(x - mean) / deviation` for each channel, where x is from 0 to 1.
    public struct PixelNormalisation: Hashable, Sendable {
        /// The mean of each channel.
        public let mean: [Double]
        /// The standard deviation of each channel.
        public let deviation: [Double]
        /// Creates a normalisation; both lists have one number per channel.
        public init(mean: [Double], deviation: [Double]) {
            self.mean = mean
            self.deviation = deviation
        }
    }
    /// Parameters of log-mel features.
    public struct MelParameters: Hashable, Sendable {
        /// The number of mel bands.
        public let bands: Int
        /// The sample rate of the audio in Hz.
        public let rate: Int
        /// The window of the Fourier transform, in samples.
        public let window: Int
        /// The distance between two windows, in samples.
        public let hop: Int
        /// Creates the parameters of log-mel features.
        public init(bands: Int, rate: Int, window: Int, hop: Int) {
            (self.bands, self.rate, self.window, self.hop) = (bands, rate, window, hop)
        }
    }

    /// Token identifiers: I64[batch, positions], or I64[batch, choices, positions] for groups of texts, from 0 to `vocabulary` - 1.
    public static func tokens(vocabulary: Int) -> Role { Role(.tokens, ["vocabulary": .integer(vocabulary)]) }
    /// The position of a block's first token: I64[1], from 0 to the cache length minus the block length.
    public static let position = Role(.position)
    /// An attention mask, of the shape of the tokens.
    public static func attentionMask(_ convention: MaskConvention) -> Role {
        Role(.attentionMask, ["convention": .word(convention.rawValue)])
    }
    /// Segment identifiers, of the shape of the tokens, from 0 to `count` - 1.
    public static func tokenTypes(count: Int) -> Role { Role(.tokenTypes, ["count": .integer(count)]) }
    /// Images: F32[batch, channels, height, width].
    /// - Parameter normalisation: nil if the model does not state its preprocessing.
    public static func pixels(_ normalisation: PixelNormalisation?) -> Role {
        Role(
            .pixels,
            normalisation.map { ["mean": .numbers($0.mean), "deviation": .numbers($0.deviation)] } ?? [:])
    }
    /// Audio samples: F32[batch, samples] or F32[batch, 1, samples], at `rate` Hz.
    public static func audio(rate: Int) -> Role { Role(.audio, ["rate": .integer(rate)]) }
    /// Log-mel features: F32[batch, bands, frames], or F32[batch, frames, bands].
    /// - Parameter bandAxis: the axis of the bands, 1 or 2.
    public static func melFeatures(_ parameters: MelParameters, bandAxis: Int = 1) -> Role {
        let axis: [String: Parameter] = bandAxis == 1 ? [:] : ["axis": .integer(bandAxis)]
        return Role(
            .melFeatures,
            axis.merging([
                "bands": .integer(parameters.bands), "rate": .integer(parameters.rate),
                "window": .integer(parameters.window), "hop": .integer(parameters.hop),
            ]) { $1 })
    }
    /// The axis of the bands of log-mel features; nil for other roles.
    package var bandAxis: Int? { kind == .melFeatures ? integer("axis") ?? 1 : nil }
    /// Random numbers that the caller draws: F32[...].
    public static func noise(_ distribution: Distribution) -> Role {
        Role(.noise, ["distribution": .word(distribution.rawValue)])
    }
    /// Codebook indices: I64[batch, positions], from 0 to `count` - 1.
    public static func codes(count: Int) -> Role { Role(.codes, ["count": .integer(count)]) }
    /// The number of valid elements on one axis of another input: I64[batch], from 1 to the size of the axis `axis` of
    /// the input `input`.
    public static func validLength(of input: String, axis: Int) -> Role {
        Role(.validLength, ["input": .word(input), "axis": .integer(axis)])
    }
    /// A speaker embedding: F32[batch, width].
    public static let style = Role(.style)
    /// The pitch of speech in Hz: F32[batch, frames].
    public static let pitch = Role(.pitch)
    /// The loudness of speech: F32[batch, frames].
    public static let energy = Role(.energy)

    /// Scores before a softmax: F32[..., classes].
    /// - Parameter positions: `last` for F32[batch, 1, classes], of the last position of a block only.
    public static func logits(over classes: Classes, positions: LogitPositions = .all) -> Role {
        let last: [String: Parameter] = positions == .all ? [:] : ["positions": .word(positions.rawValue)]
        return Role(.logits, last.merging(["over": .word(classes.rawValue)]) { $1 })
    }
    /// One vector per position: F32[batch, positions, width].
    public static let hiddenStates = Role(.hiddenStates)
    /// One vector per input, of the model's width: F32[batch, width].
    public static let pooled = Role(.pooled)
    /// One vector per input, to be compared with others: F32[batch, width].
    public static let embedding = Role(.embedding)
    /// Probabilities from 0 to 1: F32[batch, ...].
    public static let probabilities = Role(.probabilities)
    /// Scores by which tokens attend to an encoder's hidden states.
    public static let alignment = Role(.alignment)
    /// Magnitudes and phases of a short-time Fourier transform: F32[batch, bins, frames].
    public static let spectrum = Role(.spectrum)
    /// Intermediate values for another function of the model: F32 of rank 3.
    public static let features = Role(.features)

    /// A key/value cache of one layer: F32 of rank 4, where `axis` is the axis of cache positions.
    public static func keyValueCache(_ half: AttentionHalf, layer: Int, axis: Int = 2) -> Role {
        Role(.keyValueCache, attention(half, layer: layer, axis: axis))
    }
    /// The cross-attention keys or values of one layer: F32 of rank 4, where `axis` is the axis of encoder positions.
    public static func crossAttention(_ half: AttentionHalf, layer: Int, axis: Int = 2) -> Role {
        Role(.crossAttention, attention(half, layer: layer, axis: axis))
    }
    /// The state of a recurrent layer: F32 of any rank.
    public static let recurrent = Role(.recurrent)

    private static func attention(_ half: AttentionHalf, layer: Int, axis: Int) -> [String: Parameter] {
        ["half": .word(half.rawValue), "layer": .integer(layer), "axis": .integer(axis)]
    }
}
