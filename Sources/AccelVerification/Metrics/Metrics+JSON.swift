public import AccelByteIO

extension Metrics {
    /// All figures by name. JSON has no infinity: see `JSON.figure`.
    public var json: JSON {
        var members: [JSON.Member] = [
            .init("count", .integer(Int64(count))),
            .init("sqnr", .figure(sqnr)),
            .init("psnr", .figure(psnr)),
            .init("relativeL2", .figure(relativeL2)),
            .init("maximumError", .figure(largestError)),
            .init("percentile999", .figure(percentile999)),
            .init("cosine", .figure(cosine)),
            .init("referenceRMS", .figure(referenceRMS)),
            .init("signFlips", .integer(Int64(signFlips))),
            .init("nans", .integer(Int64(nans))),
            .init("infinities", .integer(Int64(infinities))),
            .init("nonFiniteMismatches", .integer(Int64(nonFiniteMismatches))),
        ]
        if let argmaxAgreement { members.append(.init("argmaxAgreement", .figure(argmaxAgreement))) }
        return .object(members)
    }
}

extension JSON {
    /// A number with nine significant digits; the strings `infinity`, `-infinity` and `nan` for values that JSON does
    /// not support. Sums of the same run in another order differ beyond that, and a report is to be the same
    /// everywhere.
    package static func figure(_ value: Double) -> JSON {
        if value.isNaN { return "nan" }
        if value.isInfinite { return value > 0 ? "infinity" : "-infinity" }
        if value == 0 { return .integer(0) }
        return .number(rounded(value, significantDigits: 9))
    }
}

extension JSONField {
    /// Returns a number that `JSON.figure` has written.
    package func figure() throws -> Double {
        switch value {
        case .string("infinity")?: .infinity
        case .string("-infinity")?: -.infinity
        case .string("nan")?: .nan
        default: try double()
        }
    }
}
