/// The basis of the default limits of a Core ML package's outputs against a model or a golden.
struct CoreMLLimits {
    /// The line of the weights' encoding that loses most, for comparisons without a model; nil without weights.
    var weakest: SchemeTolerance?
    /// Each weight is the model's, within the loss of its encoding.
    var areWeightsRight = true

    /// Returns the limit of an output.
    /// - Parameters:
    ///   - computing: the limit of the package's arithmetic.
    ///   - loss: the reference with the stored weights against the expected values; nil without a model.
    func tolerance(_ computing: Tolerance, loss: Metrics?) -> Tolerance {
        guard let loss else { return weakest.map { .scheme(of: $0) } ?? computing }
        return areWeightsRight ? computing.allowing(loss: loss) : computing
    }
}
