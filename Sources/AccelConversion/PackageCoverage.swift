import AccelByteIO
package import AccelPackages
import AccelTensors
import AccelWeightCompression

/// The coverage of the checkpoint's tensors, in sentences.
package struct PackageCoverage {
    package let entries: [CoverageEntry]
    package let unused: [UnusedTensor]

    package init(of package: AcceleratorPackage) throws {
        let map = try package.sourceMap()
        self.init(entries: map.coverage, unused: map.unusedTensors)
    }

    package init(entries: [CoverageEntry], unused: [UnusedTensor]) {
        self.entries = entries
        self.unused = unused
    }

    /// A sentence for each reason why tensors are unused, or why matrices are not stored by their scheme.
    package var warnings: [String] { warnings(besides: []) }

    /// - Parameter leftOut: the unused tensors that the request leaves out.
    package func warnings(besides leftOut: Set<String>) -> [String] {
        Self.sentences(kept { $0.tensor.shape.hasOutputChannels }, Self.keptAsIs)
            + Self.unfilled(entries.map { ($0.tensor.name, $0.tensor.shape, $0.tensor.codec) })
            + sentences(on: unused.filter { !leftOut.contains($0.name) })
    }

    /// Sentences on tensors whose rows are no whole blocks of ggml, so that they take more bytes than the scheme says.
    static func unfilled(_ weights: [(name: String, shape: Shape, codec: any WeightCodec)]) -> [String] {
        let tensors = weights.compactMap { name, shape, codec -> (name: String, reason: String)? in
            guard let block = (codec as? GGMLCodec)?.format.elements,
                shape.columns % block != 0
            else {
                return nil
            }
            return (
                name,
                "\(codec.name) has blocks of \(block) columns, to which rows are padded, as no GGUF file has them; "
                    + "flat+\(codec.name) fills blocks across rows, and int4:block=32 has smaller ones"
            )
        }
        return sentences(tensors, "stored in blocks that the rows do not fill")
    }

    /// A sentence for each reason why the request leaves out tensors.
    package func notes(on leftOut: Set<String>) -> [String] {
        sentences(on: unused.filter { leftOut.contains($0.name) })
    }

    /// A sentence for each reason why tensors without output channels, such as vectors, stay uncompressed by design.
    package var remarks: [String] { Self.sentences(kept { !$0.tensor.shape.hasOutputChannels }, Self.keptByDesign) }

    private func sentences(on tensors: [UnusedTensor]) -> [String] {
        Self.sentences(tensors.map { (name: $0.name, reason: $0.reason) }, Self.notUsed)
    }

    private func kept(where isIncluded: (CoverageEntry) -> Bool) -> [(name: String, reason: String)] {
        entries.filter(isIncluded).compactMap { entry in
            entry.reason.map { (name: entry.tensor.name, reason: $0) }
        }
    }

    static let keptAsIs = "not stored as the recipe says"
    static let keptByDesign = "as in the checkpoint, by design"
    static let notUsed = "not used"

    /// Groups tensors by reason: one sentence for each, with up to three names.
    static func sentences(_ tensors: [(name: String, reason: String)], _ what: String) -> [String] {
        let byReason = Dictionary(grouping: tensors, by: \.reason).sorted { $0.key < $1.key }
        return byReason.map { reason, tensors in
            let names = FoldedNames.all(tensors.sortedByNumbers(\.name), name: \.name) { _ in 0 }.map(\.name)
            return
                "\(Wording.count(tensors.count, "tensor")) \(tensors.count == 1 ? "is" : "are") \(what): \(reason) "
                + "(\(Wording.listed(names)))"
        }
    }
}
