public import AccelByteIO

/// The limits of a comparison. Only these metrics can pass or fail one. No default limit of a tensor is on cosine similarity, because it
/// ignores scale: a weight divided by two has a cosine of 1. A budget may, for embeddings that are compared by it.
public struct Tolerance: Equatable, Sendable {
    /// The signal-to-quantisation-noise ratio in dB, at least.
    public var sqnr: Double?
    /// The largest absolute error of an element, at most.
    public var maximumError: Double?
    /// The L2 norm of the error divided by that of the reference, at most.
    public var relativeL2: Double?
    /// The cosine similarity, at least.
    public var cosine: Double?
    /// The origin of the limits, as text for the report, such as `the default for int4`.
    public var origin: String
    /// The arithmetic that sets the limit, so that noise that is measured on the inputs may widen it; nil for other limits.
    var arithmetic: RoundingNoise.Arithmetic?

    /// Creates limits; nil leaves a metric unlimited.
    public init(
        sqnr: Double? = nil, maximumError: Double? = nil, relativeL2: Double? = nil, cosine: Double? = nil,
        origin: String
    ) {
        self.sqnr = sqnr
        self.maximumError = maximumError
        self.relativeL2 = relativeL2
        self.cosine = cosine
        self.origin = origin
    }

    /// A tolerance that accepts equal values only.
    public static func exact(origin: String) -> Tolerance { Tolerance(maximumError: 0, origin: origin) }

    /// Returns the limit for results of an arithmetic in another order, in dB.
    static func arithmetic(_ arithmetic: RoundingNoise.Arithmetic, sqnr: Double, origin: String) -> Tolerance {
        var limit = Tolerance(sqnr: sqnr, origin: origin)
        limit.arithmetic = arithmetic
        return limit
    }

    /// Returns the limits that `metrics` exceeds, as text; nil if all are kept.
    public func failureReason(for metrics: Metrics) -> String? {
        if metrics.nonFiniteMismatches > 0 {
            return "\(Wording.count(metrics.nonFiniteMismatches, "element")) NaN or infinite on one side only"
        }
        var reasons: [String] = []
        if let limit = maximumError, !(metrics.maximumError <= limit) {
            let (value, limit) = FigureText.apart(metrics.maximumError, limit, FigureText.small)
            reasons.append("max abs \(value) > \(limit)")
        }
        if let limit = sqnr, !(metrics.sqnr >= limit) {
            let (value, limit) = FigureText.apart(metrics.sqnr, limit, FigureText.decibels)
            reasons.append("SQNR \(value) dB < \(limit) dB")
        }
        if let limit = relativeL2, !(metrics.relativeL2 <= limit) {
            let (value, limit) = FigureText.apart(metrics.relativeL2, limit, FigureText.small)
            reasons.append("relative L2 \(value) > \(limit)")
        }
        if let limit = cosine, !(metrics.cosine >= limit) {
            let (value, limit) = FigureText.apart(metrics.cosine, limit) { NumberText.fixed($0, digits: 6 + $1) }
            reasons.append("cosine \(value) < \(limit)")
        }
        return reasons.isEmpty ? nil : reasons.joined(separator: ", ")
    }

    /// The limits as text, e.g. `none`, or `SQNR >= 100.0 dB, max abs <= 6.7e-06`.
    public var summary: String {
        var parts: [String] = []
        if let sqnr { parts.append("SQNR >= \(FigureText.whole(sqnr, FigureText.decibels)) dB") }
        if let maximumError {
            parts.append(maximumError == 0 ? "equal" : "max abs <= \(FigureText.small(maximumError))")
        }
        if let relativeL2 { parts.append("relative L2 <= \(FigureText.small(relativeL2))") }
        if let cosine { parts.append("cosine >= \(FigureText.whole(cosine, FigureText.cosine))") }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }

    /// The limits that are set, and `origin`, as an object of a report.
    public var json: JSON {
        var members: [JSON.Member] = []
        if let sqnr { members.append(.init("sqnr", .figure(sqnr))) }
        if let maximumError { members.append(.init("maximumError", .figure(maximumError))) }
        if let relativeL2 { members.append(.init("relativeL2", .figure(relativeL2))) }
        if let cosine { members.append(.init("cosine", .figure(cosine))) }
        members.append(.init("origin", .string(origin)))
        return .object(members)
    }
}
