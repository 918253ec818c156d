import AccelByteIO

extension MLXExporter {
    func report(
        _ folder: MLXFolder, in path: String, _ quantization: MLXQuantization?, _ remarks: [String],
        _ plain: PlainWeights
    ) throws -> ExportReport {
        let count = (folder.weights + folder.aside).reduce(0) { $0 + $1.count }
        let layers = folder.weights.compactMap(\.layer)
        let exceptions = quantization?.exceptions ?? []
        return ExportReport(
            bitsPerWeight: count == 0 ? 0 : Double(folder.byteCount * 8) / Double(count),
            lines: ["layers: \(NameCounts(layers.map { $0.scheme?.text ?? "plain" }))"],
            warnings: plain.warnings + remarks,
            json: [
                "quantization": quantization?.usual.json ?? .null,
                "exceptions": .object(exceptions.map { JSON.Member($0.name, $0.scheme?.json ?? false) }),
                "layers": .integer(Int64(layers.count)), "parameters": .integer(Int64(count)),
            ])
    }
}
