import AccelByteIO
import AccelPrograms
import AccelWeightCompression

/// The documents of a package, made from its contents and the layout of its sections. Equal contents give equal bytes.
struct PackageDocuments {
    let graph: ByteView
    let weights: ByteView
    let sourceMap: ByteView
    private let contents: PackageContents

    /// - Parameter indices: the sections of `contents.storedSections` in the layout.
    /// - Throws: `RequestError` if an attribute of a node has a free dimension.
    init(_ contents: PackageContents, layout: BlobLayout, indices: [Int]) throws {
        self.contents = contents
        var rest = indices[...]
        func next(_ count: Int) -> [Int] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        let coverage = contents.coverage.map { next($0.tensor.sections.count).map { layout.sections[$0] } }
        let encodings = contents.graph.tensors.map { tensor in
            WeightIndex.Encoding(codec: tensor.codec.specification, sections: next(tensor.sections.count))
        }
        graph = try GraphEncoder.encode(contents.graph)
        weights = WeightIndex(sections: layout.sections, encodings: encodings).encoded
        sourceMap = ByteView(Array(SourceMap.text(contents, sections: coverage).utf8))
    }

    /// Returns the manifest.
    /// - Parameter files: all files of the package, in any order. The manifest's own digest is left empty.
    func manifest(_ files: [Manifest.File]) -> Manifest {
        let (required, optional) = contents.features(hasBlobs: files.contains { $0.name.hasPrefix("weights-") })
        return Manifest(
            digest: Digest(bytes: []), major: PackageFormat.major, minor: PackageFormat.minor,
            requiredFeatures: required.map(\.rawValue), optionalFeatures: optional.map(\.rawValue),
            functions: contents.graph.functions.map(Manifest.Function.init),
            files: files.sorted { $0.name < $1.name },
            coverage: CoverageSummary(contents.coverage, unused: contents.unusedTensors.count),
            provenance: contents.provenance)
    }
}

extension PackageContents {
    /// The sections of all tensors in the order of writing: the weights of the coverage table first, as in a draft.
    var storedSections: [ByteView] { coverage.flatMap(\.tensor.sections) + graph.tensors.flatMap(\.sections) }
}

extension PackageDocuments {
    /// The tables that every package has, with their names.
    var tables: [(name: String, content: ByteView)] {
        [
            (PackageFormat.graphName, graph), (PackageFormat.weightsName, weights),
            (PackageFormat.sourceMapName, sourceMap),
        ]
    }
}
