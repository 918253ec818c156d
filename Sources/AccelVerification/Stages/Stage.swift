/// The steps of a verification, cheapest first. Each stands alone: what one finds does not need another to have run.
public enum Stage: String, CaseIterable, Comparable, Sendable {
    /// The package's bytes are the ones that were written.
    case container
    /// The package is what converting the model again makes, but for the codes of weights.
    case structure
    /// Every stored tensor, decoded from the written bytes, against the checkpoint's.
    case weights
    /// Every kernel call on the reference's inputs, against the reference meaning of its operator.
    case operators
    /// Whole functions against the reference meaning of the model with the weights as they are stored: what the package
    /// computes is what its weights say.
    case graph
    /// Whole functions against the original model or its framework: what compression costs is in it.
    case outputs

    /// What reports call it, e.g. `S1`: the stages that compute numbers are counted from 1.
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

    var title: String {
        switch self {
        case .container: "container"
        case .structure: "structure"
        case .weights: "weights"
        case .operators: "operators"
        case .graph: "graph"
        case .outputs: "outputs"
        }
    }

    public static func < (left: Stage, right: Stage) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}
