import AccelFrontEnds
import AccelPrograms

/// The functions of a model that gives each frame of a sound a character, such as wav2vec 2.0.
struct CTCFunctions: Sendable {
    /// A function of F32[1, samples] that returns F32[1, frames, vocabulary].
    struct Function: Sendable {
        let name: String
        let samples, logits: FunctionDescription.Port
        var sampleCount: Int { samples.shape.dimensions[1] }
        var frameCount: Int { logits.shape.dimensions[1] }
        var vocabularySize: Int { logits.shape.dimensions[2] }
    }
    /// From the shortest sounds to the longest.
    let functions: [Function]
    /// Samples per second.
    let rate: Int

    /// Nil for a model of another kind.
    init?(_ model: AccelModel) {
        functions = model.functions.compactMap { function in
            guard function.role == .transcribe, function.states.isEmpty, function.inputs.count == 1,
                let samples = function.input(.audio), samples.shape.rank == 2, samples.shape.dimensions[0] == 1,
                let logits = function.output(.logits), logits.shape.rank == 3, logits.shape.dimensions[0] == 1,
                samples.elementType == .float32, logits.elementType == .float32, logits.shape.count > 0
            else { return nil }
            return Function(name: function.name, samples: samples, logits: logits)
        }.sorted { $0.sampleCount < $1.sampleCount }
        guard let rate = functions.last?.samples.role.integer("rate") else { return nil }
        self.rate = rate
    }

    /// The longest function.
    var longest: Function { functions[functions.count - 1] }

    /// Returns the shortest function that takes so many samples; the longest one if none does.
    func function(for samples: Int) -> Function { functions.first { $0.sampleCount >= samples } ?? longest }
}

/// The windows of a long sound. Each is as long as the function takes, and those in the middle give the frames in their own middle only, since
/// a frame depends on the sound at both of its sides.
struct CTCWindows: Equatable, Sendable {
    struct Window: Equatable, Sendable {
        /// In samples of the sound.
        let samples: Range<Int>
        /// The frames of the window that count.
        let frames: Range<Int>
    }
    private(set) var windows: [Window] = []

    /// - Parameters:
    ///   - length: the samples of a window.
    ///   - hop: the samples from a frame to the next one.
    init(of sampleCount: Int, length: Int, hop: Int) {
        // A sixth at both sides, as the pipelines of transformers have it.
        let margin = length / 6 / hop
        let step = max((length / hop - 2 * margin), 1)
        var start = 0
        while start * hop < sampleCount {
            let end = min(start * hop + length, sampleCount)
            let isLast = end == sampleCount
            let first = start == 0 ? 0 : margin
            // The last frames of a sound are those whose samples are there.
            let last = isLast ? (end - start * hop) / hop : margin + step
            if last > first { windows.append(Window(samples: start * hop..<end, frames: first..<last)) }
            if isLast { break }
            start += step
        }
    }
}
