import AccelFrontEnds
import AccelPrograms

/// The functions of a recognizer whose encoder takes samples, such as Moonshine, for sounds of some lengths.
struct SampleFunctions: Sendable {
    typealias Port = FunctionDescription.Port

    /// The functions for sounds of up to one length.
    struct Window: Sendable {
        let parts: EncoderDecoderFunctions
        /// F32[1, samples], and I64[1], the samples that are no padding.
        let samples, length: Port
        var sampleCount: Int { samples.shape.dimensions[1] }

        /// The encoder's inputs of a sound, which zeros follow.
        /// - Parameter sound: at most `sampleCount` samples.
        func inputs(_ sound: [Float]) throws(AccelError) -> AccelFunction.Inputs {
            let padding = repeatElement(Float(0), count: max(sampleCount - sound.count, 0))
            return [
                samples.name: try AccelTensor(sound + padding, 1, sampleCount),
                length.name: try [Int64(sound.count)].tensor(1),
            ]
        }
    }
    /// From the shortest sounds to the longest.
    let windows: [Window]
    /// Samples per second.
    let rate: Int

    /// Nil for a model whose encoder takes something else.
    /// - Throws: `AccelError` (unsupported) for a model whose decoder reads no such encoder.
    init?(_ model: AccelModel) throws(AccelError) {
        let encoders = model.functions.compactMap(Self.encoder)
        guard let rate = encoders.first?.samples.role.integer("rate"), rate > 0 else { return nil }
        self.rate = rate
        var windows: [Window] = []
        for (function, samples, length, hidden) in encoders {
            guard let cross = EncoderDecoderFunctions.cross(of: model, reading: hidden) else { continue }
            let parts = try EncoderDecoderFunctions(model, function, hidden, cross)
            windows.append(Window(parts: parts, samples: samples, length: length))
        }
        guard !windows.isEmpty else {
            throw AccelError(.unsupported, "no decoder reads the output of the encoder", at: model.package.path)
        }
        self.windows = windows.sorted { $0.sampleCount < $1.sampleCount }
    }

    private static func encoder(
        _ function: FunctionDescription
    ) -> (function: FunctionDescription, samples: Port, length: Port, hidden: Port)? {
        guard function.role == .encode, function.states.isEmpty, function.inputs.count == 2,
            let samples = function.input(.audio), samples.elementType == .float32, samples.shape.rank == 2,
            samples.shape.dimensions[0] == 1, samples.shape.count > 0, let length = function.input(.validLength),
            length.elementType == .int64, length.shape.count == 1,
            let hidden = EncoderDecoderFunctions.hidden(of: function)
        else { return nil }
        return (function, samples, length, hidden)
    }

    /// The functions of the longest sounds.
    var longest: Window { windows[windows.count - 1] }

    /// Returns the functions of the shortest sounds that are as long as this; those of the longest ones if none are.
    func window(for samples: Int) -> Window { windows.first { $0.sampleCount >= samples } ?? longest }
}
