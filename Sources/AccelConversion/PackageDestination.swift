import AccelPackages

/// The destination of a package: a folder, an archive, or the cache only.
public struct PackageDestination: Sendable {
    enum Form {
        case folder, archive
        /// Only the cache keeps the package.
        case cached
    }
    let path: String?
    let form: Form

    /// A package folder. An earlier package there is replaced; the conversion fails if anything else is there.
    public static func folder(_ path: String) -> PackageDestination { PackageDestination(path: path, form: .folder) }
    /// A package in one zip archive.
    public static func archive(_ path: String) -> PackageDestination { PackageDestination(path: path, form: .archive) }
    /// The cache only; needs a cache in the settings.
    public static let cache = PackageDestination(path: nil, form: .cached)
}
