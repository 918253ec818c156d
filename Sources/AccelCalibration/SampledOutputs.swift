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
    /// The same over the samples that are in no statistics, in dB: other inputs get about that. Nil if there are too few samples to hold
    /// one out (`CalibrationSamples.heldOutShare`).
    public let heldOut: Double?
    /// The number of those samples; 0 if there are none.
    public let heldOutCount: Int
    /// Each output, in the order of names.
    public let outputs: [Output]

    /// Creates figures that were measured before.
    public init(sqnr: Double, heldOut: Double?, heldOutCount: Int, outputs: [Output]) {
        (self.sqnr, self.heldOut, self.heldOutCount, self.outputs) = (sqnr, heldOut, heldOutCount, outputs)
    }

    /// - Parameters:
    ///   - parts: the names of the parts, and the errors of their outputs.
    ///   - heldOutCount: the number of samples that all parts hold out.
    init(_ parts: [(name: String, errors: SampledErrors)], heldOut heldOutCount: Int) {
        func mean(_ errors: [[String: Double]]) -> Double {
            WeightLoss.decibels(errors.map(\.mean).reduce(0, +) / Double(max(errors.count, 1)))
        }
        sqnr = mean(parts.map(\.errors.all))
        let held = parts.compactMap(\.errors.heldOut)
        let isHeld = heldOutCount > 0 && !held.isEmpty && held.count == parts.count
        (heldOut, self.heldOutCount) = isHeld ? (mean(held), heldOutCount) : (nil, 0)
        outputs = parts.flatMap { part in
            part.errors.all.map { name, error in
                let isShared = parts.count { $0.errors.all[name] != nil } > 1
                return Output(name: isShared ? "\(part.name) \(name)" : name, sqnr: WeightLoss.decibels(error))
            }
        }.sorted { $0.name < $1.name }
    }
}

/// The error of each output of a part: squared error over energy.
struct SampledErrors {
    /// Over all samples.
    let all: [String: Double]
    /// Over the samples that are held out; nil if none is.
    let heldOut: [String: Double]?
}

extension [String: Double] {
    /// The mean of the values, summed in the order of names; 0 if there are none.
    var mean: Double { sorted { $0.key < $1.key }.reduce(0) { $0 + $1.value } / Double(Swift.max(count, 1)) }
}
