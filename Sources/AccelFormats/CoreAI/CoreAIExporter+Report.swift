import AccelByteIO

extension CoreAIExporter {
    func report(_ graphs: [CoreAIGraph], _ parts: CoreAIParts, lint: [LintFinding]) -> ExportReport {
        let weights = WeightOutcomes(parts.weights.outcomes, clamped: parts.weights.clamped)
        let (native, fused) = (NameCounts(parts.counts.native), NameCounts(parts.counts.fused))
        let decomposed = NameCounts(parts.counts.decomposed)
        var lines = [
            "functions: \(graphs.map(\.name).joined(separator: ", "))", "weights: \(weights.operations)",
            "operators: \(native)",
        ]
        if !fused.isEmpty { lines.append("composites: \(fused)") }
        if !decomposed.isEmpty { lines.append("decomposed: \(decomposed)") }
        if let found = lint.summary { lines.append("lint: \(found)") }
        return ExportReport(
            bitsPerWeight: weights.bitsPerWeight, weightBytes: weights.byteCount, lines: lines,
            warnings: weights.warnings,
            json: [
                "functions": .array(graphs.map { .string($0.name) }), "operators": native.json,
                "composites": fused.json, "decomposed": decomposed.json, "weights": weights.json,
                "lint": .array(lint.map(\.json)),
            ])
    }
}
