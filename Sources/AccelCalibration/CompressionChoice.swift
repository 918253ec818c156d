public import AccelWeightCompression

/// The goal of a choice of schemes.
public enum CompressionGoal: Sendable {
    /// At most this many bytes for the weights in question.
    case bytes(Int)
    /// At most this many bits per weight, on average over the weights in question.
    case bits(Double)
    /// The fewest bytes for which the outputs over the samples have at least this SQNR in dB.
    case sqnr(Double)
}

/// A scheme for each weight, with the measured result.
public struct CompressionPlan: Sendable {
    /// The schemes by weight name.
    public let codecs: [String: any WeightCodec]
    /// The bytes of these weights.
    public let bytes: Int
    /// The mean bits per weight.
    public let bits: Double
    /// The outputs over the samples, with all weights compressed.
    public let outputs: SampledOutputs
    /// The SQNR in dB of the outputs.
    public var sqnr: Double { outputs.sqnr }
    /// The SQNR in dB by which plans are compared: over the samples that no weight is fitted to, or over all if there are too few.
    var judgedSQNR: Double { outputs.heldOut ?? outputs.sqnr }
    /// The activation statistics of weights whose codes depend on them, by name.
    public let statistics: [String: ActivationStatistics]
    /// A single scheme for all weights gave a better result than any mixture. Bytes that it leaves are spent on finer schemes.
    public let isUniform: Bool
}

/// The result of a choice of schemes.
public struct CompressionChoice: Sendable {
    /// The chosen schemes.
    public let plan: CompressionPlan
    /// The predicted choices from the smallest to the largest, then the measured ones.
    public let front: [ParetoPoint]
    /// The loss of the outputs by the chosen scheme of each weight alone, the largest first; the remedy is the next scheme of its
    /// weight that the solver would take.
    public let losses: [WeightLoss]
    /// All measured schemes of each weight, by its name, the smallest first.
    public let candidates: [(weight: String, losses: [WeightLoss])]
}

/// A choice on the Pareto front of size and error.
public struct ParetoPoint: Sendable {
    /// The bytes of the weights.
    public let bytes: Int
    /// The mean bits per weight.
    public let bits: Double
    /// The SQNR in dB, measured or predicted.
    public let sqnr: Double
    /// The SQNR was measured with all weights compressed; if false, it is predicted from the errors of single weights.
    public let isMeasured: Bool
    /// The same over the samples that are held out, by which measured choices are compared; nil where it was not measured.
    public let heldOut: Double?

    /// Creates a point.
    public init(bytes: Int, bits: Double, sqnr: Double, isMeasured: Bool, heldOut: Double? = nil) {
        (self.bytes, self.bits, self.sqnr, self.isMeasured) = (bytes, bits, sqnr, isMeasured)
        self.heldOut = heldOut
    }
}

/// A step of a search for schemes.
public enum SearchStep: Equatable, Sendable {
    /// The schemes of a weight are measured, with all others as in the model.
    case measuring(weight: String, index: Int, of: Int)
    /// The measured schemes are put in the order of what they gain per byte.
    case solving
    /// A choice of schemes for all weights is measured, with so many bits per weight.
    case checking(bits: Double, index: Int)
}
