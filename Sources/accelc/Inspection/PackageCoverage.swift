import AccelByteIO
import AccelPackages
import AccelTensors
import AccelWeightCompression

/// What became of each tensor of the checkpoint, as tables and sentences.
struct PackageCoverage {
    let entries: [CoverageEntry]
    let unused: [UnusedTensor]

    init(of package: AcceleratorPackage) throws {
        let map = try package.sourceMap()
        self.init(entries: map.coverage, unused: map.unusedTensors)
    }

    init(entries: [CoverageEntry], unused: [UnusedTensor]) {
        self.entries = entries
        self.unused = unused
    }

    /// A row for each scheme.
    var schemes: String {
        let codecs = Dictionary(grouping: entries) { $0.tensor.codec.values.request }
        let rows = codecs.sorted { $0.key < $1.key }.map { codec, entries in
            [codec] + Self.figures(entries)
        }
        let total = codecs.count > 1 ? [["all"] + Self.figures(entries)] : []
        return Text.table(
            ["scheme", "tensors", "weights", "size", "bits", "SQNR dB"], rows + total,
            [.left, .right, .right, .right, .right, .right])
    }

    private static func figures(_ entries: [CoverageEntry]) -> [String] {
        let weights = entries.reduce(0) { $0 + $1.tensor.shape.count }
        let bytes = entries.reduce(0) { $0 + $1.tensor.byteCount }
        var distortion = Distortion()
        for entry in entries { distortion.merge(entry.distortion) }
        return [
            Text.grouped(entries.count), Text.grouped(weights), Text.bytes(bytes),
            Text.decimals(weights == 0 ? 0 : Double(bytes * 8) / Double(weights), 3),
            distortion.squaredError == 0 ? "exact" : Text.decimals(distortion.sqnr, 1),
        ]
    }

    /// A row for each tensor.
    var tensors: String {
        Text.table(
            ["tensor", "was", "shape", "stored as", "bits", "SQNR dB", "read by"],
            entries.map { entry in
                let tensor = entry.tensor
                let sqnr = entry.distortion.squaredError == 0 ? "exact" : Text.decimals(entry.distortion.sqnr, 1)
                return [
                    tensor.name, tensor.elementType.rawValue, tensor.shape.description,
                    ([tensor.codec.specification] + entry.scaledAxes.map { "\($0) scaled" }).joined(separator: ", "),
                    Text.decimals(tensor.bitsPerWeight, 3), sqnr, entry.readers.joined(separator: ", "),
                ]
            }, [.left, .left, .left, .left, .right, .right, .left])
    }

    /// A sentence for each reason why tensors stay out, or as they are where the scheme was meant for them.
    var warnings: [String] {
        Self.sentences(kept { $0.tensor.shape.hasOutputChannels }, Self.keptAsIs)
            + Self.sentences(unused.map { (name: $0.name, reason: $0.reason) }, Self.notUsed)
    }

    /// The same for those that stay as they are by design.
    var remarks: [String] { Self.sentences(kept { !$0.tensor.shape.hasOutputChannels }, Self.keptByDesign) }

    private func kept(where isIncluded: (CoverageEntry) -> Bool) -> [(name: String, reason: String)] {
        entries.filter(isIncluded).compactMap { entry in
            entry.reason.map { (name: entry.tensor.name, reason: $0) }
        }
    }

    static let keptAsIs = "not stored as the recipe says"
    static let keptByDesign = "as in the checkpoint, by design"
    static let notUsed = "not used"

    /// One for each reason.
    static func sentences(_ tensors: [(name: String, reason: String)], _ what: String) -> [String] {
        let byReason = Dictionary(grouping: tensors, by: \.reason).sorted { $0.key < $1.key }
        return byReason.map { reason, tensors in
            let names = tensors.map(\.name).sorted()
            let listed = names.prefix(3).joined(separator: ", ") + (names.count > 3 ? ", ..." : "")
            return
                "\(Text.count(names.count, "tensor")) \(names.count == 1 ? "is" : "are") \(what): \(reason) (\(listed))"
        }
    }

    var json: JSON {
        [
            "stored": .array(
                entries.map { entry in
                    let tensor = entry.tensor
                    return [
                        "name": .string(tensor.name), "dtype": .string(tensor.elementType.rawValue),
                        "shape": .array(tensor.shape.dimensions.map { .integer(Int64($0)) }),
                        "codec": .string(tensor.codec.specification), "bytes": .integer(Int64(tensor.byteCount)),
                        "bits_per_weight": .number(tensor.bitsPerWeight),
                        "sqnr": entry.distortion.sqnr.isFinite ? .number(entry.distortion.sqnr) : .null,
                        "reason": entry.reason.map { .string($0) } ?? .null,
                        "read_by": .array(entry.readers.map { .string($0) }),
                        "scaled_rows": .array((entry.scaling?.rows ?? []).map { .integer(Int64($0)) }),
                        "scaled_columns": .array((entry.scaling?.columns ?? []).map { .integer(Int64($0)) }),
                    ]
                }),
            "unused": .array(unused.map { ["name": .string($0.name), "reason": .string($0.reason)] }),
        ]
    }
}

extension CoverageEntry {
    /// Of a matrix, what was multiplied before it was stored: rows, columns, or both; of a vector, its elements.
    fileprivate var scaledAxes: [String] {
        guard let scaling else { return [] }
        if tensor.shape.rank < 2 { return ["elements"] }
        return (scaling.rows.isEmpty ? [] : ["rows"]) + (scaling.columns.isEmpty ? [] : ["columns"])
    }
}
