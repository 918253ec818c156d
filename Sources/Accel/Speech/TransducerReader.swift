import AccelByteIO
import AccelFrontEnds
import AccelPlatform

/// Emits the likeliest tokens of a transducer, one after the other (Graves 2012), for TDT with their durations (Xu et al. 2023).
struct TransducerReader: FrameReader {
    private let functions: TransducerFunctions
    let input: SoundInput
    let vocabulary: CTCVocabulary
    /// The frames by which a token with this index of the durations goes on; empty for a model that goes on by one frame after the blank.
    private let durations: [Int]
    /// The most tokens of a frame.
    private let mostSymbols: Int
    var longest: SoundPorts { functions.longest.ports }

    /// Reads config.json of the model. Those fields that it does not have are as in transformers.
    /// - Throws: `AccelError`: (unsupported) for a package without the model's vocabulary; (corrupt) for files of another model.
    init(_ functions: TransducerFunctions, of model: AccelModel) throws(AccelError) {
        let (path, files) = (model.package.path, model.package.assetFiles)
        self.functions = functions
        vocabulary = try Self.vocabulary(of: model)
        do {
            input = try SoundInput(files, for: functions.longest.ports, at: path)
            let configuration = try files.document("config.json")
            let most = configuration["max_symbols_per_step"]
            mostSymbols = try most.exists ? most.int(in: 1...1 << 16) : 10
            let stated = configuration["durations"]
            let all = try stated.exists ? stated.array().map { try $0.int(in: 0...1 << 10) } : [0, 1, 2, 3, 4]
            durations = functions.durations == nil ? [] : all
        } catch { throw AccelError(error, at: path) }
        guard functions.durations.map({ $0.shape.count == durations.count }) ?? true else {
            throw AccelError(
                .corrupt, expected: "\(functions.durations?.shape.count ?? 0) durations", found: "\(durations.count)",
                at: "\(path), config.json")
        }
        guard vocabulary.blank < functions.logits.shape.count else {
            throw AccelError(
                .corrupt, expected: "a blank below \(functions.logits.shape.count)", found: "\(vocabulary.blank)",
                at: "\(path), config.json")
        }
    }

    func makeSegments(pause: Int) -> TransducerSegments { TransducerSegments(vocabulary, pause: pause) }

    func frames(
        _ range: Range<Int>, of samples: [Float], within deadline: Deadline, in session: AccelSession
    ) async throws(AccelError) -> [[TransducerSegments.Emission]] {
        let encoder = functions.encoder(for: samples.count)
        let outputs = try await session.prediction(
            of: encoder.name, from: try input.tensors(samples, for: encoder.ports),
            options: RunOptions(timeLimit: deadline.left, outputs: [encoder.states.name]))
        let states = try outputs[encoder.states.name].array(of: Float.self)
        let count = min(input.frameCount(samples.count), encoder.stateCount)
        let width = functions.read.shape.dimensions[2]
        var emissions = [[TransducerSegments.Emission]](repeating: [], count: count)
        // Each window begins as a text does: with a blank.
        await session.reset()
        var read = try await predicted(vocabulary.blank, in: session)
        var (frame, symbols) = (0, 0)
        while frame < count {
            try deadline.check(at: "a transcription")
            let heard = Array(states[frame * width..<(frame + 1) * width])
            let step = try await joined(heard, read, in: session)
            let isBlank = step.token == vocabulary.blank
            if !isBlank {
                symbols += 1
                emissions[frame].append(
                    .init(token: step.token, length: max(step.duration ?? 1, 1), logProbability: step.logProbability))
                read = try await predicted(step.token, in: session)
            }
            var duration = step.duration ?? (isBlank ? 1 : 0)
            // As in NeMo; transformers has no limit for tokens without a duration, and stops within the sound.
            if duration == 0, isBlank || symbols >= mostSymbols { duration = 1 }
            if duration > 0 { symbols = 0 }
            frame += duration
        }
        return Array(emissions[range.clamped(to: 0..<count)])
    }

    /// Returns the predictor's state after a token.
    private func predicted(_ token: Int, in session: AccelSession) async throws(AccelError) -> [Float] {
        let outputs = try await session.prediction(
            of: functions.predictor.name, from: [functions.token.name: try AccelTensor([Int64(token)], 1, 1)],
            options: RunOptions(outputs: [functions.read.name]))
        return try outputs[functions.read.name].array(of: Float.self)
    }

    /// Returns the likeliest token and its frames; nil for a model without durations.
    private func joined(
        _ heard: [Float], _ read: [Float], in session: AccelSession
    ) async throws(AccelError) -> (token: Int, logProbability: Double, duration: Int?) {
        let names = [functions.logits.name] + (functions.durations.map { [$0.name] } ?? [])
        let outputs = try await session.prediction(
            of: functions.joint.name,
            from: [
                functions.heard.name: try AccelTensor(heard, 1, 1, heard.count),
                functions.read.name: try AccelTensor(read, 1, 1, read.count),
            ], options: RunOptions(outputs: Set(names)))
        let (token, logProbability) = Self.likeliest(try outputs[functions.logits.name].array(of: Float.self)[...])
        guard let port = functions.durations else { return (token, logProbability, nil) }
        let index = Self.likeliest(try outputs[port.name].array(of: Float.self)[...]).token
        return (token, logProbability, durations[index])
    }
}
