import AccelByteIO
import AccelPrograms

extension CoreMLExporter {
    func report(
        _ model: CoreMLModel, _ weights: WeightLowering, _ counts: LoweringCounts, lint: [LintFinding]
    ) -> ExportReport {
        let outcomes = WeightOutcomes(weights.outcomes, clamped: weights.clamped)
        let (native, decomposed) = (NameCounts(counts.native), NameCounts(counts.decomposed))
        let precise = NameCounts(counts.precise)
        var lines = [
            "functions: \(model.interfaces.map(\.function).joined(separator: ", "))",
            "weights: \(outcomes.operations)", "operators: \(native)",
        ]
        if !decomposed.isEmpty { lines.append("decomposed: \(decomposed)") }
        if !precise.isEmpty { lines.append("in float32: \(precise)") }
        for (name, parts) in counts.joined.sorted(by: { $0.key < $1.key }) {
            lines.append("in parts: \(name) as \(parts.joined(separator: ", "))")
        }
        let remarked = Dictionary(grouping: outcomes.sorted.filter { $0.outcome.remark != nil }) {
            $0.outcome.remark ?? ""
        }
        lines += remarked.sorted { $0.key < $1.key }.map { remark, weights in
            let names = FoldedNames.all(weights.map(\.name), name: \.self) { _ in 0 }.map(\.name)
            return "\(Wording.count(weights.count, "weight")) with \(remark) (\(Wording.listed(names)))"
        }
        for (name, count) in weights.divided.sorted(by: { $0.key < $1.key }) {
            lines.append(
                "in \(count) parts: \(name), longer than the \(choices.longestAxis) of an axis of the Neural Engine")
        }
        lines += model.interfaces.flatMap(\.shapesInWords)
        lines +=
            choices.layout == .ane
            ? model.program.functions.flatMap(Self.neuralEngine) : [Self.neuralEngine(model.program.functions)]
        if let found = lint.summary { lines.append("lint: \(found)") }
        let widenings = Dictionary(grouping: outcomes.sorted.compactMap(\.outcome.widening)) { $0 }
        let warnings =
            widenings.sorted { $0.key < $1.key }.map { $0.key.warning(weights: $0.value.count) }
            + outcomes.warnings
        return ExportReport(
            bitsPerWeight: outcomes.bitsPerWeight, weightBytes: outcomes.byteCount, lines: lines, warnings: warnings,
            json: [
                "specification_version": .integer(Int64(model.specificationVersion)),
                "functions": .array(model.interfaces.map { .string($0.function) }),
                "operators": native.json, "decomposed": decomposed.json, "float32": precise.json,
                "parts": .object(
                    counts.joined.sorted { $0.key < $1.key }.map {
                        .init($0.key, .array($0.value.map { .string($0) }))
                    }),
                "neural_engine": .array(model.program.functions.map(Self.obstacles)),
                "lint": .array(lint.map(\.json)),
                "weights": outcomes.json,
            ])
    }

    /// Lines on the operations that are known not to run on the Neural Engine.
    private static func neuralEngine(_ function: MILFunction) -> [String] {
        let (count, obstacles) = NeuralEngineObstacle.all(in: function)
        let off = obstacles.reduce(0) { $0 + $1.names.count }
        return [
            "Neural Engine: \(count - off) of \(count) operations of \(function.name) may run on it, as far as is known"
                + (obstacles.isEmpty ? "" : "; values by their names in the file")
        ]
            + obstacles.map { what, names in
                let folded = FoldedNames.all(names, name: \.self) { _ in 0 }.map(\.name)
                let listed = Wording.listed(folded, most: 4)
                return "  not on it: \(names.count) \(what.operation): \(what.reason) (\(listed))"
            }
    }

    /// One line on all functions, which are not laid out for the Neural Engine.
    private static func neuralEngine(_ functions: [MILFunction]) -> String {
        let all = functions.map { NeuralEngineObstacle.all(in: $0) }
        var counts: [NeuralEngineObstacle: Int] = [:]
        for obstacle in all.flatMap(\.obstacles) { counts[obstacle.what, default: 0] += obstacle.names.count }
        let sorted = counts.sorted {
            ($1.value, $0.key.operation, $0.key.reason) < ($0.value, $1.key.operation, $1.key.reason)
        }
        let (count, off) = (all.reduce(0) { $0 + $1.operations }, counts.values.reduce(0, +))
        let shown = sorted.map { "\($0.value) \($0.key.operation) (\($0.key.reason))" }
        return "Neural Engine: \(count - off) of \(count) operations may run on it, as far as is known"
            + (off == 0 ? "" : "; not on it: \(shown.joined(separator: ", "))")
    }

    private static func obstacles(_ function: MILFunction) -> JSON {
        let (count, obstacles) = NeuralEngineObstacle.all(in: function)
        return [
            "function": .string(function.name), "operations": .integer(Int64(count)),
            "off": .array(
                obstacles.map { obstacle in
                    [
                        "operation": .string(obstacle.what.operation), "reason": .string(obstacle.what.reason),
                        "values": .array(obstacle.names.map { .string($0) }),
                    ]
                }),
        ]
    }
}

extension FrozenProgram {
    /// Folds constant tables and merges equal nodes. Activations are not fused: Core ML does that itself.
    func foldingTables() throws -> FrozenProgram {
        try applying(FoldConstants.run).applying(MergeEqualNodes.run)
    }
}
