extension Role {
    public static let opaque = Role(.opaque)

    /// Which positions a mask shows.
    public enum MaskConvention: String, Sendable {
        /// 1 where a position counts, 0 where padding hides it.
        case onesCount = "ones-count"
    }
    /// How noise is distributed.
    public enum Distribution: String, Sendable {
        /// Of mean 0 and variance 1.
        case normal
        /// Between 0 and 1.
        case uniform
    }
    /// What the last axis of logits counts.
    public enum Classes: String, Sendable {
        case vocabulary, labels, texts
    }
    /// Half of what attention keeps.
    public enum AttentionHalf: String, Sendable {
        case keys, values
    }
    /// How pixels are made of an image's numbers from 0 to 1: (x - mean) / deviation, for each channel.
    public struct PixelNormalisation: Hashable, Sendable {
        public let mean: [Double]
        public let deviation: [Double]
        public init(mean: [Double], deviation: [Double]) {
            self.mean = mean
            self.deviation = deviation
        }
    }
    /// How log-mel features are made of sound.
    public struct MelParameters: Hashable, Sendable {
        /// Bands.
        public let bands: Int
        /// Samples of sound a second.
        public let rate: Int
        /// Samples that a window of the Fourier transform has.
        public let window: Int
        /// Samples from one window to the next.
        public let hop: Int
        public init(bands: Int, rate: Int, window: Int, hop: Int) {
            (self.bands, self.rate, self.window, self.hop) = (bands, rate, window, hop)
        }
    }

    /// I64[batch, positions], from 0 to below `vocabulary`.
    public static func tokens(vocabulary: Int) -> Role { Role(.tokens, ["vocabulary": .integer(vocabulary)]) }
    /// I64[1], from 0 to the cache's length minus the block's.
    public static let position = Role(.position)
    /// I64[batch, positions].
    public static func attentionMask(_ convention: MaskConvention) -> Role {
        Role(.attentionMask, ["convention": .word(convention.rawValue)])
    }
    /// I64[batch, positions], from 0 to below `count`.
    public static func tokenTypes(count: Int) -> Role { Role(.tokenTypes, ["count": .integer(count)]) }
    /// F32[batch, channels, height, width].
    /// - Parameter normalisation: nil for pixels whose preparation the model does not state.
    public static func pixels(_ normalisation: PixelNormalisation?) -> Role {
        Role(
            .pixels,
            normalisation.map { ["mean": .numbers($0.mean), "deviation": .numbers($0.deviation)] } ?? [:])
    }
    /// F32[batch, samples] or F32[batch, 1, samples], `rate` samples a second.
    public static func audio(rate: Int) -> Role { Role(.audio, ["rate": .integer(rate)]) }
    /// F32[batch, bands, frames].
    public static func melFeatures(_ parameters: MelParameters) -> Role {
        Role(
            .melFeatures,
            [
                "bands": .integer(parameters.bands), "rate": .integer(parameters.rate),
                "window": .integer(parameters.window), "hop": .integer(parameters.hop),
            ])
    }
    public static func noise(_ distribution: Distribution) -> Role {
        Role(.noise, ["distribution": .word(distribution.rawValue)])
    }
    /// I64[batch, positions], from 0 to below `count`.
    public static func codes(count: Int) -> Role { Role(.codes, ["count": .integer(count)]) }
    /// I64[batch], from 1 to the size of the axis `axis` of the input `input`.
    public static func validLength(of input: String, axis: Int) -> Role {
        Role(.validLength, ["input": .word(input), "axis": .integer(axis)])
    }
    /// F32[batch, width].
    public static let style = Role(.style)
    /// F32[batch, frames].
    public static let pitch = Role(.pitch)
    /// F32[batch, frames].
    public static let energy = Role(.energy)

    /// F32[..., classes].
    public static func logits(over classes: Classes) -> Role { Role(.logits, ["over": .word(classes.rawValue)]) }
    /// F32[batch, positions, width].
    public static let hiddenStates = Role(.hiddenStates)
    /// F32[batch, width].
    public static let pooled = Role(.pooled)
    /// F32[batch, width].
    public static let embedding = Role(.embedding)
    /// F32[batch, ...].
    public static let probabilities = Role(.probabilities)
    /// F32[batch, bins, frames].
    public static let spectrum = Role(.spectrum)
    /// F32, of three axes.
    public static let features = Role(.features)

    /// F32, of four axes, of which `axis` counts positions.
    public static func keyValueCache(_ half: AttentionHalf, layer: Int, axis: Int = 2) -> Role {
        Role(.keyValueCache, attention(half, layer: layer, axis: axis))
    }
    /// F32, of four axes, of which `axis` counts the encoder's positions.
    public static func crossAttention(_ half: AttentionHalf, layer: Int, axis: Int = 2) -> Role {
        Role(.crossAttention, attention(half, layer: layer, axis: axis))
    }
    /// F32.
    public static let recurrent = Role(.recurrent)

    private static func attention(_ half: AttentionHalf, layer: Int, axis: Int) -> [String: Parameter] {
        ["half": .word(half.rawValue), "layer": .integer(layer), "axis": .integer(axis)]
    }
}
