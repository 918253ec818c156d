import AccelByteIO
import AccelFormats
import AccelPackages

extension CoreMLPackage {
    fileprivate static let sourcePrefix = "accelc.source."

    /// The recorded source files of a package that accelc made.
    var madeOfSources: [(name: String, digest: String)] {
        model.metadata.other.filter { $0.name.hasPrefix(Self.sourcePrefix) }.map {
            (String($0.name.dropFirst(Self.sourcePrefix.count)), $0.content)
        }.sorted { $0.name < $1.name }
    }
}

extension StructureFinding {
    private static let sourcePrefix = CoreMLPackage.sourcePrefix

    /// Compares the digests that accelc recorded in a Core ML package with those of the model's files.
    mutating func compareSources(of package: CoreMLPackage, with sources: [Provenance.Source]) {
        let entries = package.model.metadata.other.filter { $0.name.hasPrefix(Self.sourcePrefix) }
        // Packages of other tools have no digests; accelc writes them together with the recipe.
        guard !entries.isEmpty || package.note("recipe") != nil else { return }
        let found = Dictionary(entries.map { ($0.name, $0.content) }) { first, _ in first }
        for source in sources {
            let name = Self.sourcePrefix + source.name
            switch found[name] {
            case nil: add(name, "the package was made without this file of the model")
            case source.digest.description: break
            case let digest?: add(name, "was \(digest), but the model's file is \(source.digest)")
            }
        }
        let known = Set(sources.map { Self.sourcePrefix + $0.name })
        for entry in entries where !known.contains(entry.name) { add(entry.name, "is no file of the model") }
        compared.append(("source", sources.count))
    }
}
