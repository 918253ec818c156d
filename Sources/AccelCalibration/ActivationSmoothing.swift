import AccelPlatform
public import AccelPrograms
import AccelTensors
public import AccelWeightCompression

/// Smooths activations that are rounded to 8 bits (SmoothQuant; Xiao et al., 2022): channels with large activations are
/// divided, and the columns of the weights that read them multiplied, so that one scale serves all channels of a row. The
/// factors are powers of two near max|x|^a / max|w|^(1 - a), so the results of the model stay the same.
public struct ActivationSmoothing {
    /// The range of exponents around their mean.
    private static let exponents = -8.0...8.0
    private let recipe: Recipe
    private let plan: [String: PlannedWeight]
    private let threads: Int
    /// The scaled weights.
    public private(set) var found: ScaledWeights

    /// Finds the sites whose readers all ask for the same smoothing; nothing is scaled yet.
    /// - Parameters:
    ///   - parts: all parts that read the weights.
    ///   - plan: the compression plan.
    public init(_ parts: [Program], plan: [PlannedWeight], by recipe: Recipe, threads: Int) {
        self.recipe = recipe
        self.plan = Dictionary(plan.map { ($0.source.name, $0) }) { first, _ in first }
        self.threads = threads
        found = ScaledWeights(of: parts)
    }

    /// Smooths every site that the samples reach and whose producers stay as good.
    public mutating func run(_ samples: [CalibrationSamples]) throws {
        let sites = found.sites.compactMap { site in
            site.smoothing(by: recipe, plan).map { (site: site, strength: $0) }
        }
        let inputs = try samples.inputRanges(of: Set(sites.compactMap(\.site.readers.first)), threads: threads)
        for (site, strength) in sites {
            guard let input = site.readers.first.flatMap({ inputs[$0] }) else { continue }
            let exponents = exponents(input.magnitudes, columnMagnitudes(of: site), strength)
            if exponents.contains(where: { $0 != 0 }), try site.keepsProducers(exponents, plan, threads: threads) {
                _ = found.scale(site, by: exponents)
            }
        }
    }

    /// Channels without activations or weights stay as they are.
    private func exponents(_ inputs: [Float], _ weights: [Float], _ strength: Double) -> [Int] {
        let logarithms = zip(inputs, weights).map { (input: Float, weight: Float) -> Double? in
            input > 0 && input.isFinite && weight > 0
                ? strength * log2(Double(input)) - (1 - strength) * log2(Double(weight)) : nil
        }
        let known = logarithms.compactMap(\.self)
        // A factor of all channels changes nothing.
        let mean = known.reduce(0, +) / Double(max(known.count, 1))
        return logarithms.map { logarithm in
            guard let logarithm else { return 0 }
            return Int(min(max((logarithm - mean).rounded(), Self.exponents.lowerBound), Self.exponents.upperBound))
        }
    }

    /// The largest magnitude of each column of the weights that read a site.
    private func columnMagnitudes(of site: ScalingSite) -> [Float] {
        var most = [Float](repeating: 0, count: site.channels)
        for source in site.readers.compactMap({ plan[$0]?.source }) where source.shape.columns == site.channels {
            for (index, element) in source.floats().enumerated() {
                most[index % site.channels] = max(most[index % site.channels], abs(element))
            }
        }
        return most
    }
}
