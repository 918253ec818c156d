import AccelByteIO
import AccelConversion
import AccelPackages
import AccelTensors
import AccelVerification
import AccelWeightCompression

extension PackageCoverage {
    /// The table with a row for each scheme.
    var schemes: String { schemeTable(outputSQNR: nil) }

    /// Returns the table with a row for each scheme.
    /// - Parameter outputSQNR: the figure of the outputs over samples, in dB, for the last row; nil without samples.
    func schemeTable(outputSQNR: Double?) -> String {
        let codecs = Dictionary(grouping: entries) { $0.tensor.codec.values.request }
        let rows = codecs.sorted { $0.key < $1.key }.map { codec, entries in
            [codec] + Self.figures(entries)
        }
        let total = codecs.count > 1 ? [["all"] + Self.figures(entries)] : []
        let table = rows + total
        let outputs = outputSQNR.map { $0.isFinite ? Text.decimals($0, 1) : "exact" }
        return Text.table(
            ["scheme", .number("tensors"), .number("weights"), .number("size"), .number("bits"), .number("SQNR dB")]
                + (outputs == nil ? [] : [.number("outputs dB")]),
            table.enumerated().map { index, row in
                row + (outputs.map { [index == table.count - 1 ? $0 : ""] } ?? [])
            })
    }

    private static func figures(_ entries: [CoverageEntry]) -> [String] {
        let weights = entries.reduce(0) { $0 + $1.tensor.shape.count }
        let bytes = entries.reduce(0) { $0 + $1.tensor.byteCount }
        var distortion = Distortion()
        for entry in entries { distortion.merge(entry.distortion) }
        return [
            Wording.grouped(entries.count), Wording.grouped(weights), Wording.bytes(bytes),
            Text.decimals(weights == 0 ? 0 : Double(bytes * 8) / Double(weights), 3),
            distortion.squaredError == 0 ? "exact" : Text.decimals(distortion.sqnr, 1),
        ]
    }

    /// Returns the table of tensors.
    /// - Parameter folds: tensors that are stored alike, and whose names differ in consecutive numbers only, share a line.
    func tensors(folds: Bool) -> String {
        func cells(_ entry: CoverageEntry) -> [String] {
            let tensor = entry.tensor
            return [
                tensor.elementType.rawValue, tensor.shape.description,
                ([tensor.codec.specification] + entry.scaledAxes.map { "\($0) scaled" }).joined(separator: ", "),
                Text.decimals(tensor.bitsPerWeight, 3), entry.readers.joined(separator: ", "),
            ]
        }
        let rows = Inspection.folded(entries, folds: folds, name: \.tensor.name) {
            cells($0).joined(separator: "\t")
        }
        return Text.table(
            ["tensor", "was", "shape", "stored as", .number("bits"), .number("SQNR dB"), "read by"],
            rows.map { row in
                let cells = row.elements.first.map(cells) ?? []
                return [row.name] + cells.dropLast() + [Self.range(row.elements)] + cells.suffix(1)
            })
    }

    /// Returns the SQNR of tensors: `40.1 to 44.0`.
    private static func range(_ entries: [CoverageEntry]) -> String {
        let lossy = entries.filter { $0.distortion.squaredError != 0 }.map(\.distortion.sqnr)
        guard let low = lossy.min(), let high = lossy.max() else { return "exact" }
        let (least, most) = (Text.decimals(low, 1), lossy.count < entries.count ? "exact" : Text.decimals(high, 1))
        return least == most ? least : "\(least) to \(most)"
    }

    var json: JSON {
        [
            "stored": .array(
                entries.map { entry in
                    let tensor = entry.tensor
                    return [
                        "name": .string(tensor.name), "dtype": .string(tensor.elementType.rawValue),
                        "shape": .ints(tensor.shape.dimensions),
                        "codec": .string(tensor.codec.specification), "bytes": .int(tensor.byteCount),
                        "bits_per_weight": .number(tensor.bitsPerWeight),
                        "sqnr": .figure(entry.distortion.sqnr),
                        "reason": .text(entry.reason),
                        "read_by": .texts(entry.readers),
                        "scaled_rows": .ints(entry.scaling?.rows ?? []),
                        "scaled_columns": .ints(entry.scaling?.columns ?? []),
                    ]
                }),
            "unused": .array(unused.map { ["name": .string($0.name), "reason": .string($0.reason)] }),
        ]
    }
}

extension CoverageEntry {
    /// The axes of a matrix that were scaled before it was stored: rows, columns, or both; the elements of a vector.
    fileprivate var scaledAxes: [String] {
        guard let scaling else { return [] }
        if tensor.shape.rank < 2 { return ["elements"] }
        return (scaling.rows.isEmpty ? [] : ["rows"]) + (scaling.columns.isEmpty ? [] : ["columns"])
    }
}
