import AccelByteIO

/// The conversion of a classifier's logits to scores, as its author's tools make it.
public enum ClassScores: Sendable {
    /// Probabilities that add up to 1; of one class alone from 0 to 1.
    case shares
    /// A probability for each class, since several may be right.
    case independent
    /// The logits themselves, of a regression.
    case plain

    /// By config.json: the activation of a cross encoder of sentence-transformers, else the kind of problem as transformers has it.
    init(_ configuration: JSONField) throws {
        for field in [
            configuration["sentence_transformers"]["activation_fn"],
            configuration["sbert_ce_default_activation_function"],
        ] {
            guard field.exists, field.value != .null else { continue }
            let name = try field.string()
            if name.hasSuffix("Identity") {
                self = .plain
            } else {
                self = name.hasSuffix("Sigmoid") ? .independent : .shares
            }
            return
        }
        let problem = configuration["problem_type"]
        switch try problem.exists && problem.value != .null ? problem.string() : "" {
        case "multi_label_classification": self = .independent
        case "regression": self = .plain
        default: self = .shares
        }
    }
}
