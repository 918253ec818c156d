public import AccelWeightCompression

extension ScalingSite {
    /// Returns how strongly a recipe smooths the channels; nil if it does not ask for that alike for all their readers.
    /// - Parameter plan: the compression plan of all weights, by name.
    public func smoothing(by recipe: Recipe, _ plan: [String: PlannedWeight]) -> Double? {
        let strengths = readers.map { name in
            plan[name].flatMap { recipe.activations(for: $0.source, readBy: $0.readers).smoothing }
        }
        return Set(strengths).count == 1 ? strengths[0] : nil
    }
}

extension Recipe {
    /// Channels of some activations are smoothed.
    package var smoothsActivations: Bool { allActivations.contains { $0.smoothing != nil } }
}
