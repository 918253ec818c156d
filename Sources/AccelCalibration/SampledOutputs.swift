/// The SQNR of the outputs over samples, with activations in float32.
public struct SampledOutputs: Equatable, Sendable {
    /// The SQNR of one output.
    public struct Output: Equatable, Sendable {
        /// The output's name, as in reports of `verify`; after the part's name if several parts have an output of this name.
        public let name: String
        /// In dB; infinite if nothing is lost.
        public let sqnr: Double

        /// Creates a figure that was measured before.
        public init(name: String, sqnr: Double) { (self.name, self.sqnr) = (name, sqnr) }
    }
    /// In dB, by the mean error of the outputs; the mean over the parts.
    public let sqnr: Double
    /// Each output, in the order of names.
    public let outputs: [Output]

    /// Creates figures that were measured before.
    public init(sqnr: Double, outputs: [Output]) { (self.sqnr, self.outputs) = (sqnr, outputs) }

    /// - Parameter parts: the names of the parts, and the error of each output: squared error over energy.
    init(_ parts: [(name: String, errors: [String: Double])]) {
        sqnr = WeightLoss.decibels(parts.map { $0.errors.mean }.reduce(0, +) / Double(max(parts.count, 1)))
        outputs = parts.flatMap { part in
            part.errors.map { name, error in
                let isShared = parts.count { $0.errors[name] != nil } > 1
                return Output(name: isShared ? "\(part.name) \(name)" : name, sqnr: WeightLoss.decibels(error))
            }
        }.sorted { $0.name < $1.name }
    }
}

extension [String: Double] {
    /// The mean of the values, summed in the order of names; 0 if there are none.
    var mean: Double { sorted { $0.key < $1.key }.reduce(0) { $0 + $1.value } / Double(Swift.max(count, 1)) }
}
