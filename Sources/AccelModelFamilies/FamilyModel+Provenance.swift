import AccelPrograms

/// What packages record of where a model's programs come from.
extension ModelFamily {
    /// e.g. `bert`
    public static var name: String { modelTypes.first ?? "" }
    /// e.g. `bert 1`, for keys.
    public static var versionedName: String { "\(name) \(version)" }
}

extension FamilyModel {
    /// The parts that a package of this model says were asked for: empty where they are those that the family builds
    /// without being asked.
    public func recordedParts(of family: any ModelFamily) -> [String] {
        let names = programs.map(\.name)
        return Set(names) == Set(family.defaultParts) ? [] : names
    }
}
