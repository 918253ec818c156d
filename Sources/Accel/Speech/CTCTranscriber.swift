import AccelAudio
import AccelByteIO
import AccelFrontEnds
import AccelPlatform

/// Transcribes a sound by a model that gives each frame a character: the likeliest one, without a language model.
actor CTCTranscriber: SegmentMaker {
    nonisolated let language = Locked<String?>(nil)
    nonisolated let secondsWithoutSpeech = Locked(0.0)
    private let functions: CTCFunctions
    private let vocabulary: CTCVocabulary
    private let isNormalised: Bool
    /// The samples from a frame to the next one.
    private let hop: Int
    private let session: AccelSession
    private let spoken: [ClosedRange<Double>]?
    private let path: String
    /// The sound, until its samples replace it.
    private var sound: Sound?
    private var samples: [Float] = []
    private var windows: ArraySlice<CTCWindows.Window> = []
    private var segments: CTCSegments
    private var waiting: ArraySlice<CTCSegments.Segment> = []
    private var times = SoundTimes()
    private var isFirst = true
    private var isAtWork = false

    /// The seconds without a character that end a segment.
    private static let pause = 0.5

    /// - Throws: `AccelError`: (unsupported) for a package without the model's vocabulary, and for a translation; (invalid) for a language.
    init(
        _ model: AccelModel, _ functions: CTCFunctions, _ sound: Sound?, _ options: TranscriptionOptions
    ) throws(AccelError) {
        (self.functions, self.sound, path, spoken) = (functions, sound, model.package.path, options.spoken)
        try options.check()
        guard options.task == .transcribe else {
            throw AccelError(.unsupported, "the model writes what it hears, and does not translate", at: path)
        }
        if let language = options.language {
            throw AccelError(
                .invalid, expected: "no language, because the model does not take one", found: language, at: path)
        }
        let files = model.package.assetFiles
        do {
            guard let vocabulary = try CTCVocabulary(files: files) else {
                throw AccelError(.unsupported, "the package has no vocab.json with the model's characters", at: path)
            }
            self.vocabulary = vocabulary
            let strides = try files.document("config.json")["conv_stride"]
            // Those of all published models.
            hop =
                strides.exists
                ? try strides.array().reduce(1) { try $0 * $1.int(in: 1...1 << 8) } : 320
            if case .samples(let isNormalised)? = try AudioFeatures(files: files)?.kind {
                self.isNormalised = isNormalised
            } else {
                isNormalised = true
            }
        } catch { throw AccelError(error, at: path) }
        let largest = functions.longest.vocabularySize
        if let unknown = vocabulary.texts.keys.first(where: { $0 >= largest }) {
            throw AccelError(
                .corrupt, expected: "characters below \(largest)", found: "\(unknown)", at: "\(path), vocab.json")
        }
        guard functions.longest.sampleCount / 2 > hop else {
            throw AccelError(
                .unsupported, expected: "functions of sounds of more than \(2 * hop) samples",
                found: "\(functions.longest.sampleCount)", at: path)
        }
        segments = CTCSegments(vocabulary, pause: Int(Self.pause * Double(functions.rate)) / hop)
        session = try model.makeSession()
    }

    func hear(_ window: SpeechWindow) {
        let silence = times.hear(window)
        secondsWithoutSpeech.withLock { $0 += silence }
        sound = window.sound
    }

    func next() async throws(AccelError) -> TranscriptionSegment? {
        guard !isAtWork else {
            throw AccelError(.busy, "another iterator asks for a segment", at: "a transcription")
        }
        isAtWork = true
        defer { isAtWork = false }
        try prepare()
        while waiting.isEmpty, let window = windows.popFirst() {
            var found: [CTCSegments.Segment] = []
            for frame in try await frames(of: window) {
                if let segment = segments.append(frame) { found.append(segment) }
            }
            if windows.isEmpty, let segment = segments.finish() { found.append(segment) }
            waiting = found[...]
        }
        return try waiting.popFirst().map(segment)
    }

    /// Makes samples of a sound that has not begun.
    private func prepare() throws(AccelError) {
        guard let sound else { return }
        do {
            samples = try sound.samples(at: functions.rate)
        } catch { throw AccelError(error, at: "the sound") }
        times.parts = spoken.map { SpokenParts($0, sampleCount: samples.count, rate: functions.rate) }
        if let parts = times.parts { samples = parts.joined(samples) }
        windows = CTCWindows(of: samples.count, length: functions.longest.sampleCount, hop: hop).windows[...]
        segments.restart()
        self.sound = nil
    }

    /// Returns the likeliest token of each frame that counts.
    private func frames(of window: CTCWindows.Window) async throws(AccelError) -> [CTCSegments.Frame] {
        let function = functions.function(for: window.samples.count)
        var values = Array(samples[window.samples])
        if isNormalised { values = AudioFeatures.normalised(values) }
        values.append(contentsOf: repeatElement(0, count: function.sampleCount - values.count))
        let outputs = try await session.prediction(
            of: function.name, from: [function.samples.name: try AccelTensor(values, 1, function.sampleCount)],
            options: RunOptions(outputs: [function.logits.name]))
        let logits = try outputs[function.logits.name].array(of: Float.self)
        let width = function.vocabularySize
        return window.frames.clamped(to: 0..<function.frameCount).map { frame in
            let scores = logits[frame * width..<(frame + 1) * width]
            let best = scores.indices.reduce(scores.startIndex) { scores[$1] > scores[$0] ? $1 : $0 }
            let sum = scores.reduce(0.0) { $0 + exp(Double($1 - scores[best])) }
            return CTCSegments.Frame(token: best - scores.startIndex, logProbability: -log(sum))
        }
    }

    private func time(_ frame: Int, isEnd: Bool) -> Double {
        times.time(Double(frame * hop) / Double(functions.rate), isEnd: isEnd)
    }

    private func segment(_ found: CTCSegments.Segment) throws(AccelError) -> TranscriptionSegment {
        let space = vocabulary.delimiter == nil ? "" : " "
        let words = found.words.enumerated().map { index, word in
            TranscriptionSegment.Word(
                text: (index == 0 && isFirst ? "" : space) + word.text,
                start: time(word.frames.lowerBound, isEnd: false), end: time(word.frames.upperBound, isEnd: true),
                probability: exp(word.logProbability))
        }
        isFirst = false
        let text = words.map(\.text).joined()
        do {
            return TranscriptionSegment(
                start: time(found.frames.lowerBound, isEnd: false), end: time(found.frames.upperBound, isEnd: true),
                text: text, tokens: found.tokens, words: words, temperature: 0,
                meanLogProbability: found.logProbability,
                compressionRatio: try DecodedWindow.compressionRatio(of: text), noSpeechProbability: 0)
        } catch { throw AccelError(error, at: "a transcription") }
    }
}
