public import AccelPrograms
public import AccelWeightCompression

/// The versions of what makes a package, each of which goes up by itself: a change of one codec leaves the results of the
/// others as they are.
public struct ResultVersions: Sendable {
    /// The family's name and version, e.g. `bert 1`.
    public var family: String
    public var passes: [String: Int]
    /// Of the codecs that may store a weight.
    public var codecs: [String: Int]
    /// `Tool.calibrationVersion` where samples or statistics have a part in the result.
    public var calibration: Int?

    public init(
        family: String = "", passes: [String: Int] = Passes.versions, codecs: [String: Int] = Codecs.numericsVersions,
        calibration: Int? = nil
    ) {
        (self.family, self.passes, self.codecs, self.calibration) = (family, passes, codecs, calibration)
    }

    var fields: [CacheKey.Field] {
        [
            .init("family", family), .init("passes", Self.text(passes)), .init("codecs", Self.text(codecs)),
        ] + (calibration.map { [.init("calibration version", "\($0)")] } ?? [])
    }

    /// e.g. `int4 1, stored 1`
    static func text(_ versions: [String: Int]) -> String {
        versions.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
}
