import AccelByteIO

extension CoreAIExporter {
    func report(_ graphs: [CoreAIGraph], _ parts: CoreAIParts) -> ExportReport {
        let outcomes = parts.weights.outcomes.sorted { $0.key < $1.key }
        let (bytes, count) = outcomes.reduce((0, 0)) { ($0.0 + $1.value.byteCount, $0.1 + $1.value.count) }
        var forms: [String: Int] = [:]
        for outcome in outcomes { forms[outcome.value.operation, default: 0] += 1 }
        var lines = [
            "functions: \(graphs.map(\.name).joined(separator: ", "))",
            "weights: " + forms.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "),
            "operators: \(Self.list(parts.counts.native))",
        ]
        if !parts.counts.fused.isEmpty { lines.append("composites: \(Self.list(parts.counts.fused))") }
        if !parts.counts.decomposed.isEmpty { lines.append("decomposed: \(Self.list(parts.counts.decomposed))") }
        let clamped = parts.weights.clamped.sorted().map {
            "table \(quoted($0)): what exceeds float16 became 30000 or -30000"
        }
        return ExportReport(
            bitsPerWeight: count == 0 ? 0 : Double(bytes * 8) / Double(count), weightBytes: bytes, lines: lines,
            warnings: PlainWeights(parts.weights.outcomes).warnings + clamped,
            json: [
                "functions": .array(graphs.map { .string($0.name) }), "operators": Self.json(parts.counts.native),
                "composites": Self.json(parts.counts.fused), "decomposed": Self.json(parts.counts.decomposed),
                "weights": .array(
                    outcomes.map { name, outcome in
                        .object(
                            [
                                .init("name", .string(name)), .init("form", .string(outcome.operation)),
                                .init("bytes", .integer(Int64(outcome.byteCount))),
                                .init("bits_per_weight", .number(outcome.bitsPerWeight)),
                            ] + (outcome.fallback.map { [.init("fallback", .string($0))] } ?? []))
                    }),
            ])
    }

    private static func list(_ counts: [String: Int]) -> String {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) \($0.key)" }
            .joined(separator: ", ")
    }

    private static func json(_ counts: [String: Int]) -> JSON {
        .object(counts.sorted { $0.key < $1.key }.map { .init($0.key, .integer(Int64($0.value))) })
    }
}
