public import AccelPrograms
public import AccelWeightCompression

/// The versions of family, passes, codecs, recipes and calibration. Each increases independently, so a change of one codec does
/// not invalidate the results of others.
public struct ResultVersions: Sendable {
    /// The family's name and version, such as `bert 1`.
    public var family: String
    /// The versions of the passes, by name.
    public var passes: [String: Int]
    /// The numerics versions of the codecs that may encode a weight, by name.
    public var codecs: [String: Int]
    /// `Recipe.choiceVersion`; another one in tests.
    package var choice = Recipe.choiceVersion
    /// `Tool.calibrationVersion` if calibration data or statistics affect the result; else nil.
    public var calibration: Int?

    /// Creates the versions of a result.
    public init(
        family: String = "", passes: [String: Int] = Passes.versions, codecs: [String: Int] = Codecs.numericsVersions,
        calibration: Int? = nil
    ) {
        (self.family, self.passes, self.codecs, self.calibration) = (family, passes, codecs, calibration)
    }

    var fields: [CacheKey.Field] {
        [
            .init("family", family), .init("passes", Self.text(passes)), .init("codecs", Self.text(codecs)),
            .init("choice of codecs", "\(choice)"),
        ] + (calibration.map { [.init("calibration version", "\($0)")] } ?? [])
    }

    /// Returns versions as text, such as `int4 1, stored 1`.
    static func text(_ versions: [String: Int]) -> String {
        versions.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
}
