import AccelByteIO
import AccelPrograms

/// The functions of a model that speaks, each part's from the shortest to the longest.
struct SpeakerParts: Sendable {
    /// A function with an axis of time.
    struct Part: Sendable {
        let function: FunctionDescription
        /// The steps that it takes at most.
        let steps: Int
    }

    let text, prosody, decoder, source, vocoder: [Part]

    /// - Throws: `AccelError` (unsupported) for a model that lacks one of the parts.
    init(_ model: AccelModel) throws(AccelError) {
        func parts(
            _ name: String, _ input: String, axis: Int, _ inputs: Set<String>, _ outputs: Set<String>
        ) throws(AccelError) -> [Part] {
            let found = model.functions.compactMap { function -> Part? in
                guard function.part == name, function.states.isEmpty, inputs == Set(function.inputs.map(\.name)),
                    outputs.isSubset(of: function.outputs.map(\.name)),
                    let port = function.inputs.first(where: { $0.name == input }), port.shape.rank > axis,
                    port.shape.dimensions[0] == 1, function.outputs.allSatisfy({ $0.shape.rank > 1 })
                else { return nil }
                return Part(function: function, steps: port.shape.dimensions[axis])
            }
            guard !found.isEmpty else {
                throw AccelError(
                    .unsupported, "no function of the part \(name) for one text, as Kokoro has it",
                    at: model.package.path, hint: "convert the model with all parts, and batch=1")
            }
            return found.sorted { $0.steps < $1.steps }
        }
        text = try parts(
            "text_encoder", "input_ids", axis: 1, ["input_ids", "style", "length"], ["durations", "d", "t_en"])
        prosody = try parts("prosody", "en", axis: 2, ["en", "style", "length"], ["f0", "n"])
        decoder = try parts("decoder_pre_bucket", "asr", axis: 2, ["asr", "f0", "n", "ref_s", "length"], ["x_pre"])
        source = try parts("har_source", "f0", axis: 1, ["f0", "noise.0", "noise.1"], ["har"])
        vocoder = try parts("generator_bucket", "x_pre", axis: 2, ["x_pre", "ref_s", "har", "length"], ["audio"])
    }
}

extension [SpeakerParts.Part] {
    /// Returns the shortest part of at least so many steps.
    /// - Throws: `AccelError` (invalid) if there is none.
    func fitting(_ steps: Int, _ unit: String) throws(AccelError) -> FunctionDescription {
        if let part = first(where: { $0.steps >= steps }) { return part.function }
        throw AccelError(
            .invalid, expected: "at most \(last?.steps ?? 0) \(unit)", found: "\(steps)",
            at: last.map { "function \"\($0.function.name)\"" } ?? "",
            hint: "speak a shorter text, or convert the model with a larger shape")
    }
}
