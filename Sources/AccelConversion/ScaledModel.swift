import AccelCalibration
import AccelPrograms
import AccelTensors

/// A planned model with scaled channels, where its schemes ask for that: the third stage of conversions and exports. Channels of weights
/// with method=awq are scaled so that columns with large inputs get finer quantisation steps (AWQ, arXiv:2306.00978); or activations are
/// smoothed (SmoothQuant, arXiv:2211.10438). A request has one of the two.
struct ScaledModel {
    /// The plan of the scaled functions.
    let planned: PlannedModel
    /// The channel scalings, by weight.
    let scalings: [String: ChannelScaling]
    /// The reasons why weights with method=awq are not scaled, by weight.
    let unscaled: [String: String]
    /// Cached statistics; nil for none.
    let memory: KeptStatistics?

    /// - Parameter memory: cached statistics; new ones are added.
    init(_ planned: PlannedModel, remembering memory: KeptStatistics?) throws {
        self.memory = memory
        var calibration = planned.calibration
        let (measured, recipe) = (planned.opened.measured, planned.recipe)
        if let search = try calibration.scaling(measured, planned: planned.plan, memory: memory) {
            self.planned = try planned.scaled(search.found, calibration, unscaled: search.reasons.keys)
            (scalings, unscaled) = (search.found.scalings, search.reasons)
        } else if recipe.smoothsActivations {
            let found = try calibration.smoothing(measured, planned: planned.plan, by: recipe)
            self.planned = try planned.scaled(found, calibration, unscaled: [])
            (scalings, unscaled) = (found.scalings, [:])
        } else {
            (self.planned, scalings, unscaled) = (planned, [:], [:])
        }
    }

    /// Returns the encoding that the model's files have of a weight; nil if they have none by this codec, or if the weight's
    /// channels were scaled.
    func encoding(
        of source: StoredTensor, by codec: any WeightCodec
    ) throws -> (CompressedTensor, Distortion)? {
        guard let encoded = planned.opened.model.encoded[source.name], encoded.codec.values == codec.values,
            encoded.shape == source.shape, scalings[source.name] == nil
        else { return nil }
        return (try encoded.stated(as: source.elementType).tensor(), try source.losslessDistortion())
    }
}
