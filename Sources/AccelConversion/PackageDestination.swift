import AccelPackages

/// Where a package is to be written, and in which form.
public struct PackageDestination: Sendable {
    enum Form {
        case folder, archive
        /// In the cache only.
        case cached
    }
    let path: String?
    let form: Form

    /// A package folder. A package that stands there is replaced, anything else is refused.
    public static func folder(_ path: String) -> PackageDestination { PackageDestination(path: path, form: .folder) }
    /// A package in one zip archive.
    public static func archive(_ path: String) -> PackageDestination { PackageDestination(path: path, form: .archive) }
    /// Nothing is written but what the cache keeps.
    public static let cache = PackageDestination(path: nil, form: .cached)
}
