import AccelFrontEnds
import AccelPlatform
import AccelPrograms

/// The functions of a model that gives each frame of a sound a token, such as wav2vec 2.0, or Parakeet with a CTC head.
struct CTCFunctions: Sendable {
    /// A function of a sound that returns F32[1, frames, vocabulary].
    struct Function: Sendable {
        let name: String
        let ports: SoundPorts
        let logits: FunctionDescription.Port
        var frameCount: Int { logits.shape.dimensions[1] }
        var vocabularySize: Int { logits.shape.dimensions[2] }
    }
    /// From the shortest sounds to the longest.
    let functions: [Function]
    /// The longest function.
    let longest: Function

    /// Nil for a model of another kind.
    init?(_ model: AccelModel) {
        functions = model.functions.compactMap { function in
            guard function.role == .transcribe, function.states.isEmpty, let ports = SoundPorts(function),
                let logits = function.output(.logits), logits.shape.rank == 3, logits.shape.dimensions[0] == 1,
                logits.elementType == .float32, logits.shape.count > 0
            else { return nil }
            return Function(name: function.name, ports: ports, logits: logits)
        }.sorted { $0.ports.sampleCount < $1.ports.sampleCount }
        guard let longest = functions.last else { return nil }
        self.longest = longest
    }

    /// Returns the shortest function that takes so many samples; the longest one if none does.
    func function(for samples: Int) -> Function { functions.first { $0.ports.sampleCount >= samples } ?? longest }
}

/// Gives each frame of a sound its likeliest token.
struct CTCReader: FrameReader {
    private let functions: CTCFunctions
    let input: SoundInput
    let vocabulary: CTCVocabulary
    var longest: SoundPorts { functions.longest.ports }

    /// - Throws: `AccelError`: (unsupported) for a package without the model's vocabulary; (corrupt) for one of another model.
    init(_ functions: CTCFunctions, of model: AccelModel) throws(AccelError) {
        let path = model.package.path
        self.functions = functions
        vocabulary = try Self.vocabulary(of: model)
        do {
            input = try SoundInput(model.package.assetFiles, for: functions.longest.ports, at: path)
        } catch { throw AccelError(error, at: path) }
        let largest = functions.longest.vocabularySize
        // A tokenizer may have tokens that the model never gives.
        if vocabulary.wordMark == nil, let unknown = vocabulary.texts.keys.first(where: { $0 >= largest }) {
            throw AccelError(
                .corrupt, expected: "characters below \(largest)", found: "\(unknown)", at: "\(path), vocab.json")
        }
    }

    func makeSegments(pause: Int) -> CTCSegments { CTCSegments(vocabulary, pause: pause) }

    func frames(
        _ range: Range<Int>, of samples: [Float], within deadline: Deadline, in session: AccelSession
    ) async throws(AccelError) -> [CTCSegments.Frame] {
        let function = functions.function(for: samples.count)
        let outputs = try await session.prediction(
            of: function.name, from: try input.tensors(samples, for: function.ports),
            options: RunOptions(timeLimit: deadline.left, outputs: [function.logits.name]))
        let logits = try outputs[function.logits.name].array(of: Float.self)
        let width = function.vocabularySize
        return range.clamped(to: 0..<function.frameCount).map { frame in
            let (token, logProbability) = Self.likeliest(logits[frame * width..<(frame + 1) * width])
            return CTCSegments.Frame(token: token, logProbability: logProbability)
        }
    }
}
