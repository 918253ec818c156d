import AccelByteIO
import AccelTensors

/// A summary of an adapter and of the modules that it changes, without a model.
public struct AdapterSummary: Sendable {
    /// Modules whose names have the same last part, such as `q_proj`.
    public struct Target: Equatable, Sendable {
        /// The last part of the names.
        public let name: String
        /// The number of modules.
        public let count: Int
        /// The ranks of their changes, ascending, without repetition.
        public let ranks: [Int]
        /// The factors of their low-rank products, ascending, without repetition.
        public let scales: [Double]
    }

    /// The `peft_type`, such as `LORA`; nil if the configuration has none.
    public let type: String?
    /// The rank of modules without patterns of their own; nil unless it is LoRA.
    public let rank: Int?
    /// The numerator of the scale of such modules; nil unless it is LoRA.
    public let alpha: Double?
    /// The fields that select variants of plain LoRA, such as `use_dora`.
    public let variants: [String]
    /// The model that the adapter was trained on, as its configuration states it.
    public let baseModel: String?
    /// The changed modules, by name.
    public let targets: [Target]
    /// The names of whole tensors that replace the model's.
    public let replaced: [String]
    /// Why it cannot be merged into any model; nil if it can.
    public let obstacle: String?
}

extension AdapterSource {
    /// A summary of the adapter. An adapter that cannot be merged has the reason in it.
    public var summary: AdapterSummary {
        let type = try? adapter.configuration["peft_type"].string()
        let base = try? adapter.configuration["base_model_name_or_path"].string()
        do {
            let opened = try Adapter(AdapterRequest(path), adapter)
            let configuration = opened.configuration
            let modules = try opened.modules.map { name, module in
                let rank = module.down?.shape.dimensions.first ?? 0
                let scale = try module.down.map { try configuration.scale(of: name, rank: rank, in: $0) }
                return (name: String(name.split(separator: ".").last ?? ""), rank: rank, scale: scale ?? 0)
            }
            let targets = Dictionary(grouping: modules, by: \.name).sorted { $0.key < $1.key }.map { name, modules in
                AdapterSummary.Target(
                    name: name, count: modules.count, ranks: Set(modules.map(\.rank)).sorted(),
                    scales: Set(modules.map(\.scale)).sorted())
            }
            let variants = [
                ("use_rslora", configuration.isRankStabilised), ("use_dora", configuration.hasLengths),
                ("fan_in_fan_out", configuration.isTransposed),
            ]
            return AdapterSummary(
                type: type, rank: configuration.rank, alpha: configuration.alpha,
                variants: variants.filter(\.1).map(\.0), baseModel: base, targets: targets,
                replaced: opened.replacements.keys.sorted(), obstacle: nil)
        } catch {
            return AdapterSummary(
                type: type, rank: nil, alpha: nil, variants: [], baseModel: base, targets: [], replaced: [],
                obstacle: "\(error)")
        }
    }
}
