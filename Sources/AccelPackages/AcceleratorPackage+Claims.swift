import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension AcceleratorPackage {
    /// Compares the claims of the manifest with the package's files. Whatever version wrote them, counts and features
    /// have to be those of the files, and a known format version must not have unknown members.
    /// - Throws: `FormatError` naming the first field that is wrong.
    func checkClaims() throws {
        let (contents, name) = (try contents, PackageFormat.manifestName)
        func fail(_ field: String, _ reason: String) -> FormatError {
            FormatError(file: files.describe(name), location: .field(field), reason: reason)
        }
        guard manifest.coverage == CoverageSummary(contents.coverage, unused: contents.unusedTensors.count) else {
            throw fail("coverage", "does not count what \(PackageFormat.sourceMapName) lists")
        }
        let codecs = Codecs.numericsVersions(of: contents.coverage.map(\.tensor.codec)).keys.sorted()
        guard manifest.provenance.codecVersions.keys.sorted() == codecs else {
            throw fail("provenance.codecs", "does not name the codecs that store the weights: \(codecs)")
        }
        let states = manifest.provenance.states
        guard states == .float32 || contents.graph.hasStates(in: states) else {
            throw fail("provenance.states", "is \(states.rawValue), but no state is \(states.elementType.rawValue)")
        }
        let isKnown = manifest.minor <= PackageFormat.minor
        let (required, optional) = contents.features(hasBlobs: !manifest.blobs.isEmpty)
        for (kind, found, wanted) in [
            ("required", manifest.requiredFeatures, required), ("optional", manifest.optionalFeatures, optional),
        ] {
            let found = isKnown ? found : found.filter { PackageFormat.Feature(rawValue: $0) != nil }
            guard found != wanted.map(\.rawValue) else { continue }
            throw fail("features.\(kind)", "is \(found), but the package has \(wanted.map(\.rawValue))")
        }
        guard isKnown else { return }
        let map = SourceMap.text(contents, sections: contents.coverage.map { _ in [] })
        for (name, text) in [(name, manifest.text), (PackageFormat.sourceMapName, map)] {
            let found = try JSON.parse(files.content(name), file: name, limits: SourceMap.limits)
            let known = try JSON.parse(ByteView(Array(text.utf8)), file: name, limits: SourceMap.limits)
            guard let member = found.member(missingIn: known) else { continue }
            throw FormatError(
                file: files.describe(name), location: .field(member),
                reason: "is not a member of this format \(manifest.major).\(manifest.minor)")
        }
    }
}

extension ModelGraph {
    fileprivate func hasStates(in storage: StateStorage) -> Bool { functions.contains { $0.hasStates(in: storage) } }
}

extension PackageContents {
    /// Returns the features of a package with these contents.
    func features(hasBlobs: Bool) -> (required: [PackageFormat.Feature], optional: [PackageFormat.Feature]) {
        let isScaled = coverage.contains { $0.scaling != nil }
        return (
            [.graph] + (hasBlobs ? [.weightBlobs] : [])
                + (graph.hasStates(in: .float16) ? [.halfStates] : [])
                + (graph.hasStates(in: .int8) ? [.byteStates] : []),
            [.sourceMap] + (assets.isEmpty ? [] : [.assets]) + (isScaled ? [.scaledChannels] : [])
                + (hasOrigins ? [.origins] : [])
        )
    }
}

extension JSON {
    /// Returns the path of the first member, at any depth, that `other` lacks.
    fileprivate func member(missingIn other: JSON) -> String? {
        switch (self, other) {
        case (.object(let members), .object):
            for member in members {
                guard let value = other[member.key] else { return member.key }
                if let path = member.value.member(missingIn: value) { return "\(member.key).\(path)" }
            }
        case (.array(let elements), .array(let others)):
            for (index, (element, value)) in zip(elements, others).enumerated() {
                if let path = element.member(missingIn: value) { return "\(index).\(path)" }
            }
        default: break
        }
        return nil
    }
}
