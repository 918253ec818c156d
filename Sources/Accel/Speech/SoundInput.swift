import AccelAudio
import AccelByteIO
import AccelFrontEnds
import AccelPrograms

/// The inputs of a function of a sound: samples F32[1, samples], or features F32[1, frames, bands] and the mask of their frames I64[1, frames].
struct SoundPorts: Sendable {
    typealias Port = FunctionDescription.Port

    let input: Port
    /// Nil for a function of samples.
    let mask: Port?
    /// The samples that the function takes.
    let sampleCount: Int
    /// Samples per second.
    let rate: Int

    /// Nil for a function of something else.
    init?(_ function: FunctionDescription) {
        if function.inputs.count == 1, let samples = function.input(.audio), samples.shape.rank == 2,
            samples.shape.dimensions[0] == 1, samples.elementType == .float32, let rate = samples.role.integer("rate")
        {
            (input, mask, sampleCount, self.rate) = (samples, nil, samples.shape.dimensions[1], rate)
            return
        }
        guard function.inputs.count == 2, let features = function.input(.melFeatures),
            let mask = function.input(.attentionMask), features.shape.rank == 3, features.shape.dimensions[0] == 1,
            features.role.bandAxis == 2, features.elementType == .float32, mask.elementType == .int64,
            mask.shape.dimensions == [1, features.shape.dimensions[1]], features.shape.count > 0,
            let rate = features.role.integer("rate"), let hop = features.role.integer("hop"), hop > 0
        else { return nil }
        (input, self.mask, self.rate) = (features, mask, rate)
        sampleCount = features.shape.dimensions[1] * hop
    }
}

/// Makes the inputs of functions of a sound, as the files of their model state it.
struct SoundInput: Sendable {
    private enum Kind {
        case samples(isNormalised: Bool)
        /// With the frames of features that one frame of the output stands for.
        case features(NormalisedLogMel, factor: Int)
    }
    private let kind: Kind
    /// The samples from a frame of the output to the next one.
    let hop: Int

    /// Reads preprocessor_config.json and config.json of a model. Those fields that they do not have are as in the published models.
    /// - Throws: `AccelError` (corrupt) for features that the function does not take; `FormatError` naming a field of another type or range.
    init(_ files: NamedFiles, for ports: SoundPorts, at path: String) throws {
        let (features, configuration) = (try AudioFeatures(files: files)?.kind, try files.document("config.json"))
        guard ports.mask != nil else {
            let strides = configuration["conv_stride"]
            hop = strides.exists ? try strides.array().reduce(1) { try $0 * $1.int(in: 1...1 << 8) } : 320
            if case .samples(let isNormalised)? = features {
                kind = .samples(isNormalised: isNormalised)
            } else {
                kind = .samples(isNormalised: true)
            }
            return
        }
        let (bands, step) = (ports.input.shape.dimensions[2], ports.input.role.integer("hop") ?? 160)
        let own: NormalisedLogMel
        if case .normalisedLogMel(let stated)? = features {
            own = stated
        } else {
            own = NormalisedLogMel(bandCount: bands, sampleRate: ports.rate, hop: step)
        }
        guard (own.bandCount, own.sampleRate, own.hop) == (bands, ports.rate, step) else {
            throw AccelError(
                .corrupt, expected: "features of \(bands) mel bands for each \(step) samples at \(ports.rate) Hz",
                found: "\(own.bandCount) bands, \(own.hop) samples and \(own.sampleRate) Hz",
                at: "\(path), preprocessor_config.json")
        }
        let field = configuration["encoder_config"]["subsampling_factor"]
        let factor = try field.exists ? field.int(in: 1...1 << 10) : 8
        kind = .features(own, factor: factor)
        hop = own.hop * factor
    }

    /// Returns the frames that a sound of so many samples has in the output.
    func frameCount(_ samples: Int) -> Int {
        switch kind {
        case .samples: samples / hop
        case .features(let extractor, let factor): (extractor.frameCount(samples) + factor - 1) / factor
        }
    }

    /// Returns the inputs of a function, by their names. Silence follows the samples, as transformers pads batches.
    /// - Parameter samples: at most as many as the function takes.
    func tensors(_ samples: [Float], for ports: SoundPorts) throws(AccelError) -> [String: AccelTensor] {
        func padded<Number: Numeric>(_ values: [Number], to count: Int) -> [Number] {
            values + [Number](repeating: 0, count: max(count - values.count, 0))
        }
        switch kind {
        case .samples(let isNormalised):
            let values = isNormalised ? AudioFeatures.normalised(samples) : samples
            let count = ports.sampleCount
            return [ports.input.name: try AccelTensor(padded(values, to: count), 1, count)]
        case .features(let extractor, _):
            let (frames, bands) = (ports.input.shape.dimensions[1], extractor.bandCount)
            let features = padded(extractor.features(of: samples), to: frames * bands)
            let shown = [Int64](repeating: 1, count: min(extractor.frameCount(samples.count), frames))
            var inputs = [ports.input.name: try AccelTensor(features, 1, frames, bands)]
            if let mask = ports.mask { inputs[mask.name] = try AccelTensor(padded(shown, to: frames), 1, frames) }
            return inputs
        }
    }
}
