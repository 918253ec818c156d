/// The stages of a verification, cheapest first. Each runs alone and needs no result of another.
public enum Stage: String, CaseIterable, Comparable, Sendable {
    /// The package's bytes equal the written ones.
    case container
    /// The package equals a new conversion of the model, except for the codes of weights.
    case structure
    /// Every stored tensor, decoded from its bytes, against the checkpoint's.
    case weights
    /// Every kernel call on the reference's inputs, against the reference implementation of its operator.
    case operators
    /// Whole functions against the reference implementation of the model with the stored weights. Errors of compression
    /// are not in it.
    case graph
    /// Whole functions against the original model or its framework. Errors of compression are in it.
    case outputs

    /// The code in reports, e.g. `S1`: the stages that compute metrics are counted from 1.
    public var code: String {
        switch self {
        case .container: "S0"
        case .structure: "ST"
        case .weights: "S1"
        case .operators: "S2"
        case .graph: "S3"
        case .outputs: "S4"
        }
    }

    var title: String { rawValue }

    public static func < (left: Stage, right: Stage) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}
