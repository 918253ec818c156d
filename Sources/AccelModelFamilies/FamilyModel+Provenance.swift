import AccelPrograms

/// The provenance of a model's programs, as packages record it.
extension ModelFamily {
    /// The name of the family: its first model type, such as `bert`.
    public static var name: String { modelTypes.first ?? "" }
    /// The name with the version, such as `bert 1`, for cache keys.
    public static var versionedName: String { "\(name) \(version)" }
}

extension FamilyModel {
    /// Returns the parts that a package records as requested: empty if they are the default parts.
    public func recordedParts(of family: any ModelFamily) -> [String] {
        let names = programs.map(\.name)
        return Set(names) == Set(family.defaultParts) ? [] : names
    }
}
