import AccelByteIO
import AccelFormats
import AccelTensors

extension AdapterSource: InspectedSource {
    func inspection(_ request: InspectionRequest) throws -> Inspection { Inspection(self, summary, request) }
}

extension Inspection {
    /// Inspects an adapter: its kind, rank and scale, and the modules that it changes.
    init(_ source: AdapterSource, _ summary: AdapterSummary, _ request: InspectionRequest) {
        let tensors = source.adapter.tensors
        let kind = summary.type.map { $0 == "LORA" ? "LoRA adapter" : "adapter of the type \($0)" } ?? "adapter"
        let numbers =
            [summary.rank.map { "rank \($0)" }, summary.alpha.map { "alpha \(Self.text($0))" }].compactMap(\.self)
            + summary.variants
        var parts = [
            ([
                ([kind] + numbers).joined(separator: ", ") + (summary.baseModel.map { ", for \($0)" } ?? ""),
                "  weights: \(AdapterFiles.weightsName), \(Wording.count(tensors.count, "tensor")), "
                    + Self.size(of: tensors),
            ] + (summary.replaced.isEmpty ? [] : ["  whole tensors: \(Self.list(summary.replaced))"])
                + (summary.obstacle.map { ["  cannot be merged: \($0)"] } ?? []))
                .joined(separator: "\n")
        ]
        parts[0] = "\(source.path): \(parts[0])"
        if !summary.targets.isEmpty {
            parts.append(
                Text.table(
                    ["target", .number("modules"), .number("rank"), .number("scale")],
                    summary.targets.map { target in
                        [
                            target.name, "\(target.count)", target.ranks.map { "\($0)" }.joined(separator: ", "),
                            target.scales.map { Self.text($0) }.joined(separator: ", "),
                        ]
                    }))
        }
        if request.tensors { parts.append(Self.table(of: tensors, folds: request.folds)) }
        text = parts.joined(separator: "\n\n")
        json = [
            "kind": "adapter", "folder": .string(source.path), "type": .text(summary.type),
            "rank": .int(summary.rank),
            "alpha": summary.alpha.map { .number($0) } ?? .null,
            "variants": .texts(summary.variants),
            "base_model": .text(summary.baseModel),
            "targets": .array(
                summary.targets.map { target in
                    [
                        "name": .string(target.name), "modules": .int(target.count),
                        "ranks": .ints(target.ranks),
                        "scales": .array(target.scales.map { .number($0) }),
                    ]
                }),
            "replaced": .texts(summary.replaced),
            "obstacle": .text(summary.obstacle), "tensors": Self.json(of: tensors),
        ]
    }

    private static func list(_ names: [String]) -> String {
        names.count <= 4
            ? names.joined(separator: ", ") : "\(names.count) (\(names.prefix(3).joined(separator: ", ")), ...)"
    }

    /// Returns a number with at most four decimals.
    private static func text(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e9 ? "\(Int(number))" : Text.decimals(number, 4)
    }
}
