import AccelAudio
import AccelByteIO
import AccelPrograms
import AccelTensors

/// Speaks phonemes by the parts of Kokoro, whose steps between them are those of its own code: durations are rounded, and the features of
/// a phoneme are repeated as often as it lasts.
struct Speaker: Sendable {
    private let model: AccelModel
    private let parts: SpeakerParts
    /// The numbers of phonemes.
    private let vocabulary: [String: Int64]
    /// The numbers of a port, in row-major order, in place of those that other functions make; nil for these. Ports with noise have no
    /// others.
    typealias GivenNumbers = @Sendable (FunctionDescription.Port) -> [Float]?

    /// - Throws: `AccelError` (unsupported) for a model that does not speak; (corrupt) for a configuration without phonemes.
    init(_ model: AccelModel) throws(AccelError) {
        self.model = model
        parts = try SpeakerParts(model)
        let limit = parts.text[0].function.input(.tokens)?.role.integer("vocabulary") ?? 1 << 16
        do {
            let entries = try model.package.assetFiles.document("config.json")["vocab"].members()
            vocabulary = Dictionary(
                try entries.map { ($0.key, Int64(try $0.field.int(in: 0...max(limit - 1, 0)))) }
            ) { first, _ in first }
        } catch { throw AccelError(error, at: model.package.path) }
    }

    /// Returns the numbers of phonemes, with 0 before and after them.
    /// - Throws: `AccelError` (invalid) with all symbols that the model does not know.
    func text(of phonemes: String) throws(AccelError) -> [Int64] {
        let symbols = phonemes.unicodeScalars.map { String($0) }
        let unknown = symbols.filter { vocabulary[$0] == nil }.distinct
        guard unknown.isEmpty else {
            throw AccelError(
                .invalid, "the model knows no \(unknown.map { quoted($0) }.joined(separator: ", "))",
                at: "the phonemes \(quoted(phonemes))", hint: "config.json lists the symbols, as \"vocab\"")
        }
        return [0] + symbols.compactMap { vocabulary[$0] } + [0]
    }

    /// Speaks a text.
    /// - Parameters:
    ///   - text: numbers of phonemes, with 0 before and after them.
    ///   - style: two halves of a voice's row.
    ///   - deadline: the end of the time for all functions.
    func speak(
        _ text: [Int64], _ style: (sound: [Float], prosody: [Float]), speed: Double,
        until deadline: Deadline = Deadline(),
        given: GivenNumbers
    ) async throws(AccelError) -> Sound {
        let encoder = try parts.text.fitting(text.count, "phonemes, with the two at its ends")
        let size = encoder.inputs.first { $0.name == "input_ids" }?.shape.dimensions[1] ?? text.count
        let ids = text + [Int64](repeating: 0, count: size - text.count)
        let encoded = try await run(
            encoder, ["input_ids": ids.tensor(1, size), "length": [Int64(text.count)].tensor(1)],
            ["style": style.prosody], given, deadline)
        let durations = try durations(try encoded["durations"], of: text.count, speed: speed)
        let frames = durations.reduce(0, +)

        let prosody = try parts.prosody.fitting(frames, "frames")
        let length = try [Int64(frames)].tensor(1)
        let curves = try await run(
            prosody, ["length": length],
            ["style": style.prosody, "en": try Columns(rows: try encoded["d"]).repeated(durations)],
            given, deadline)
        let (pitch, loudness) = (try Columns(try curves["f0"]), try Columns(try curves["n"]))

        let features = try Columns(try encoded["t_en"]).repeated(durations)
        let decoded = try await run(
            try parts.decoder.fitting(frames, "frames"), ["length": length],
            ["asr": features, "f0": pitch, "n": loudness, "ref_s": style.sound], given, deadline)

        // Pitch and loudness have two numbers for each frame.
        let source = try parts.source.fitting(2 * frames, "half frames")
        let harmonics = try await run(source, [:], ["f0": pitch], given, deadline)

        let vocoder = try parts.vocoder.fitting(2 * frames, "half frames")
        let audio = try await run(
            vocoder, ["length": try [Int64(2 * frames)].tensor(1)],
            [
                "x_pre": try Columns(try decoded["x_pre"]), "har": try Columns(try harmonics["har"]),
                "ref_s": style.sound,
            ], given, deadline)
        return try sound(audio, of: vocoder, frames: 2 * frames)
    }

    /// Runs a function, whose inputs are as long as its ports.
    private func run(
        _ function: FunctionDescription, _ integers: [String: AccelTensor], _ floats: [String: any SpeakerInput],
        _ given: GivenNumbers, _ deadline: Deadline
    ) async throws(AccelError) -> Outputs {
        var inputs = integers
        for port in function.inputs where port.elementType == .float32 {
            if let numbers = given(port) {
                inputs[port.name] = try numbers.tensor(for: port, of: function)
            } else {
                inputs[port.name] = try floats[port.name]?.tensor(for: port, of: function)
            }
        }
        return try await AccelFunction(function, of: model).prediction(
            from: inputs, options: RunOptions(timeLimit: deadline.left))
    }

    /// Returns the frames of each phoneme, at least one.
    /// - Parameter chances: F32[1, sequence, longest], whose sums are the durations.
    private func durations(
        _ chances: AccelTensor, of count: Int, speed: Double
    ) throws(AccelError) -> [Int] {
        let longest = chances.shape.dimensions[2]
        let numbers = try chances.array(of: Float.self)
        return try (0..<count).map { index throws(AccelError) in
            let sum = numbers[index * longest..<(index + 1) * longest].reduce(0, +)
            let frames = (Double(sum) / speed).rounded(.toNearestOrEven)
            guard frames.isFinite, frames < 1_000_000 else {
                throw AccelError(.numerics, "phoneme \(index) lasts \(frames) frames", at: model.package.path)
            }
            return max(Int(frames), 1)
        }
    }

    /// - Parameter frames: the valid ones of the vocoder.
    private func sound(
        _ outputs: Outputs, of vocoder: FunctionDescription, frames: Int
    ) throws(AccelError) -> Sound {
        let samples = try outputs["audio"].array(of: Float.self)
        let steps = vocoder.inputs.first { $0.name == "x_pre" }?.shape.dimensions[2] ?? frames
        let rate = vocoder.output(.audio)?.role.integer("rate") ?? 24_000
        do {
            return try Sound(samples: Array(samples.prefix(samples.count / max(steps, 1) * frames)), sampleRate: rate)
        } catch { throw AccelError(error, at: model.package.path) }
    }
}
