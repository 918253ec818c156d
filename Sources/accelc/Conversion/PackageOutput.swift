import ByteIO
import Packages

/// Where a package is to be written, and in which form.
struct PackageOutput {
    static let output = Option(
        "output", .file("OUT.accelpkg"),
        "the package to write; a package of that name is replaced, anything else is not",
        short: "o", isRequired: true)
    static let zip = Option("zip", .flag, "write one zip archive instead of a folder; so does an OUT that ends in .zip")

    let path: String
    let isArchive: Bool

    /// - Throws: `RequestError` when something stands there that is not a package of the same form.
    init(_ arguments: Arguments) throws {
        path = try arguments.required(Self.output)
        isArchive = arguments.has(Self.zip) || path.hasSuffix(".zip")
        guard let kind = Files.kindWithoutFollowing(path) else { return }
        guard kind == (isArchive ? .file : .folder), AcceleratorPackage.looksLikePackage(at: path) else {
            throw RequestError(
                "\(path) exists and is \(kind), but no package \(isArchive ? "archive" : "folder") that could be replaced; "
                    + "remove it or choose another name")
        }
    }

    func write(_ contents: PackageContents) throws {
        if isArchive {
            try PackageWriter.archive(contents, to: path)
        } else {
            try PackageWriter.write(contents, to: path)
        }
    }
}
