import AccelAudio
import AccelByteIO
import AccelFrontEnds
import AccelPrograms
import AccelTensors

/// The functions of a speech recognizer whose encoder takes log-mel features, such as Whisper.
struct SpeechFunctions: Sendable {
    typealias Port = FunctionDescription.Port

    let parts: EncoderDecoderFunctions
    /// F32[1, bands, frames].
    let features: Port
    /// The functions that tell where a text is spoken, from the shortest texts to the longest.
    let aligners: [Aligner]

    /// A function of the tokens of a text, I64[1, sequence], that returns the scores of heads, F32[1, heads, sequence, states].
    struct Aligner: Sendable {
        let function: FunctionDescription
        let tokens, scores: Port

        /// Nil for a function of something else.
        init?(_ function: FunctionDescription, states: Int) {
            guard function.role == .align, function.inputs.count == 1, let tokens = function.input(.tokens),
                let scores = function.output(.alignment), tokens.elementType == .int64,
                scores.elementType == .float32, scores.shape.rank == 4,
                tokens.shape.dimensions == [1, scores.shape.dimensions[2]], scores.shape.dimensions[0] == 1,
                scores.shape.dimensions[3] == states, scores.shape.count > 0
            else { return nil }
            (self.function, self.tokens, self.scores) = (function, tokens, scores)
        }
    }
    /// The features of the encoder's input.
    let extractor: LogMelSpectrogram

    /// The frames of a window.
    var frames: Int { features.shape.dimensions[2] }
    /// The frames of an encoder state, which is the unit of times: a fiftieth of a second.
    var framesPerState: Int {
        let states = max(parts.hidden.shape.dimensions[1], 1)
        return (frames + states - 1) / states
    }

    /// Chooses the functions of the longest window.
    /// - Throws: `AccelError` (unsupported) for a model that takes no sound, or whose decoder reads no encoder; (corrupt) for features of
    ///   its files that its encoder does not take.
    init(_ model: AccelModel) throws(AccelError) {
        let path = model.package.path
        let encoders = model.functions.compactMap(Self.encoder)
        guard !encoders.isEmpty else {
            throw AccelError(.unsupported, "no function takes the log-mel features of a sound", at: path)
        }
        let complete = encoders.compactMap { encoder -> (FunctionDescription, Port, Port, FunctionDescription)? in
            EncoderDecoderFunctions.cross(of: model, reading: encoder.hidden)
                .map { (encoder.function, encoder.features, encoder.hidden, $0) }
        }
        guard let (encoder, features, hidden, cross) = complete.max(by: { $0.1.shape.count < $1.1.shape.count }) else {
            throw AccelError(.unsupported, "no decoder reads the output of the encoder", at: path)
        }
        self.features = features
        parts = try EncoderDecoderFunctions(model, encoder, hidden, cross)
        aligners = model.functions.filter { Set($0.states).isSubset(of: cross.states) }
            .compactMap { Aligner($0, states: hidden.shape.dimensions[1]) }
            .sorted { $0.tokens.shape.count < $1.tokens.shape.count }
        do { extractor = try Self.extractor(model, features) } catch { throw AccelError(error, at: path) }
    }

    private static func encoder(
        _ function: FunctionDescription
    ) -> (function: FunctionDescription, features: Port, hidden: Port)? {
        guard function.inputs.count == 1, let features = function.input(.melFeatures), features.shape.rank == 3,
            features.shape.dimensions[0] == 1, features.shape.count > 0,
            let hidden = EncoderDecoderFunctions.hidden(of: function)
        else { return nil }
        return (function, features, hidden)
    }

    /// The features that the model's files state; for a model without such a file those that its input states.
    private static func extractor(_ model: AccelModel, _ port: Port) throws -> LogMelSpectrogram {
        func parameter(_ name: String, _ usual: Int) -> Int { port.role.integer(name) ?? usual }
        let bands = port.shape.dimensions[1]
        guard case .logMel(let extractor, _)? = try AudioFeatures(files: model.package.assetFiles)?.kind else {
            return LogMelSpectrogram(
                bandCount: bands, sampleRate: parameter("rate", 16_000), frameLength: parameter("window", 400),
                hop: parameter("hop", 160))
        }
        guard extractor.bandCount == bands else {
            throw AccelError(
                .corrupt, expected: "features of \(bands) mel bands", found: "\(extractor.bandCount)",
                at: "\(model.package.path), preprocessor_config.json")
        }
        return extractor
    }
}
