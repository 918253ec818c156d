import AccelAudio
import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

/// Whisper's parts with the ports of WhisperKit, beside the parts that are tested against the original framework.
@Suite("Whisper's parts for WhisperKit")
struct WhisperKitTests {
    private static let small = ParityCase(folder: Fixtures.path("whisper_small"))
    /// A tiny model with a list of alignment heads, and windows of one second.
    private static let speech = ParityCase(folder: Fixtures.path("speech/whisper"))

    private static func part(
        _ name: String, of subject: ParityCase, _ numbers: [String: Int]
    ) throws -> FrozenProgram {
        let program = try #require(try subject.model(parts: [name]).programs.first)
        let known = Set(program.dimensions.map(\.name))
        return try program.freezing(ShapeBindings(numbers.filter { known.contains($0.key) }))
    }

    private static func outputs(
        _ part: FrozenProgram, _ inputs: [String: HostTensor], by engine: ParityCase.Engine = .reference
    ) throws -> [String: HostTensor] {
        try engine.outputs(of: part, inputs).reduce(into: [:]) { $0[$1.name] = $1.tensor }
    }

    @Test("The parts are built by name only, and read or explain every tensor", arguments: [small, speech])
    func accounting(subject: ParityCase) throws {
        let all = try subject.model(parts: [FamilyModel.everyPart]).programs.map(\.name)
        #expect(all == ["encoder", "cross_kv", "decoder", "aligner"])
        for part in ["MelSpectrogram", "AudioEncoder", "TextDecoder"] {
            let model = try subject.model(parts: [part])
            #expect(model.programs.map(\.name) == [part])
            try subject.expectAccount(of: model)
        }
        let error = #expect(throws: RequestError.self) { try subject.model(parts: ["Decoder"]) }
        #expect(error.map { !"\($0)".contains("TextDecoder") } ?? false)
    }

    @Test("The features are those of the extractor, of speech and of silence", arguments: ParityCase.Engine.allCases)
    func features(engine: ParityCase.Engine) throws {
        let part = try Self.part("MelSpectrogram", of: Self.speech, ["frames": 100])
        let speech = Array(try Sound(contentsOf: Fixtures.path("speech/talk.wav")).samples[..<16_000])
        for samples in [speech, [Float](repeating: 0, count: 16_000)] {
            let made = try Self.outputs(part, ["audio": HostTensor(samples, [16_000])], by: engine)
            let features = try #require(made["melspectrogram_features"])
            #expect(features.shape == [1, 12, 1, 100])
            let expected = LogMelSpectrogram(bandCount: 12).features(of: samples)
            #expect(expected.frameCount == 100)
            #expect(zip(features.floats, expected.values).allSatisfy { abs($0 - $1) < 1e-5 })
        }
    }

    @Test("The encoder gives the encoder's hidden states, channels first")
    func encoder() throws {
        let features = HostTensor(try #require(try Self.small.golden()["in.input_features"]))
        let sizes = ["batch": 1, "frames": 26]
        let hidden = try Self.outputs(
            Self.part("encoder", of: Self.small, sizes), ["input_features": features])["last_hidden_state"]
        let input = HostTensor(features.floats, [1, 10, 1, 26])
        let made = try Self.outputs(
            Self.part("AudioEncoder", of: Self.small, sizes), ["melspectrogram_features": input])
        let transposed = try Transpose([0, 2, 1]).evaluate([try #require(hidden)])[0]
        #expect(made["encoder_output_embeds"] == HostTensor(transposed.floats, [1, 18, 1, 13]))
    }

    @Test(
        "The protocol of single tokens gives the framework's logits and caches, whatever masked columns hold",
        arguments: ParityCase.Engine.allCases)
    func tokenByToken(engine: ParityCase.Engine) throws {
        let golden = try Self.small.golden()
        let tokens = HostTensor(try #require(golden["in.decoder_input_ids"])).integers
        let hidden = HostTensor(try #require(golden["out.encoder_hidden"]))
        let part = try Self.part("TextDecoder", of: Self.small, ["batch": 1, "frames": 26])
        var host = try WhisperKitHost(part, hidden, engine)
        // The caches of the first window are left over in the second one.
        for _ in 0..<2 {
            host.startWindow()
            var rows: [Float] = []
            for token in tokens {
                let made = try host.step(token)
                let logits = try #require(made["logits"])
                #expect(logits.shape == [1, 1, 47])
                #expect(made["alignment_heads_weights"] == nil)
                rows += logits.floats
            }
            var results = ["logits_full": HostTensor(rows, [1, tokens.count, 47])]
            for (half, name) in ["key_cache", "value_cache"].enumerated() {
                for layer in 0..<2 {
                    let state = "kv_final.self_\(["k", "v"][half]).\(layer)"
                    results[state] = host.cache(
                        name, layer: layer, heads: 2, positions: tokens.count,
                        besides: HostTensor(try #require(golden["out.\(state)"])))
                }
            }
            for deviation in try DecoderCase(files: Self.small).deviations(of: results) {
                #expect(deviation.inNoise <= 4, "\(deviation)")
            }
        }
    }

    @Test("The row of each token is the mean of the aligner's heads after the softmax")
    func alignment() throws {
        let sizes = ["batch": 1, "frames": 100, "sequence": 7]
        let tokens: [Int64] = [70, 71, 75, 79, 5, 9, 12]
        let features = HostTensor((0..<1200).map { Float($0 % 17) / 8 - 1 }, [1, 12, 100])
        let hidden = try #require(
            try Self.outputs(
                Self.part("encoder", of: Self.speech, sizes), ["input_features": features])["last_hidden_state"])
        var states: [String: HostTensor] = [:]
        _ = try Self.part("cross_kv", of: Self.speech, sizes).evaluate(
            ["encoder_hidden_states": hidden], states: &states)
        let scores = try Self.part("aligner", of: Self.speech, sizes).evaluate(
            ["decoder_input_ids": HostTensor(tokens, [1, 7])], states: &states)[0].tensor
        #expect(scores.shape == [1, 3, 7, 50])
        let weights = try Softmax().evaluate([scores])
        let expected = try Reduce(.mean, axes: [1], keepsAxes: false).evaluate(weights)[0].floats
        let part = try Self.part("TextDecoder", of: Self.speech, sizes)
        var host = try WhisperKitHost(part, hidden, .reference)
        host.startWindow()
        for (index, token) in tokens.enumerated() {
            let row = try #require(try host.step(token)["alignment_heads_weights"])
            #expect(row.shape == [1, 50])
            #expect(zip(row.floats, expected[index * 50..<(index + 1) * 50]).allSatisfy { abs($0 - $1) < 1e-5 })
        }
    }

    @Test("A bare model has no logits to give")
    func bare() throws {
        var bare = try ChangedCheckpoint("whisper_small")
        bare.set("architectures", .array([.string("WhisperModel")]))
        try bare.withCheckpoint { checkpoint in
            let family = try Families.matching(checkpoint.configuration)
            #expect(try family.model(for: checkpoint, parts: ["AudioEncoder"]).programs.count == 1)
            #expect(throws: RequestError.self) { try family.model(for: checkpoint, parts: ["TextDecoder"]) }
        }
    }
}

/// The decoding loop of WhisperKit: one token at a time, caches that the host writes, and masks of both.
private struct WhisperKitHost {
    private let part: FrozenProgram
    private let engine: ParityCase.Engine
    private let embeds: HostTensor
    private let capacity: Int
    /// F32[1, channels, 1, positions]: any finite numbers before the first window.
    private var caches: [String: [Float]] = [:]
    private var update: [Float] = []
    private var padding: [Float] = []
    private var position = 0

    /// - Parameter hidden: the encoder's states, F32[1, states, width].
    init(_ part: FrozenProgram, _ hidden: HostTensor, _ engine: ParityCase.Engine) throws {
        (self.part, self.engine) = (part, engine)
        let (states, width) = (hidden.shape.dimensions[1], hidden.shape.dimensions[2])
        embeds = HostTensor(try Transpose([0, 2, 1]).evaluate([hidden])[0].floats, [1, width, 1, states])
        let cache = try #require(part.program.inputs.first { $0.name == "key_cache" })
        let sizes = part.shape(of: cache.value).dimensions
        capacity = sizes[3]
        var random = SeededGenerator(seed: 7)
        for name in ["key_cache", "value_cache"] {
            caches[name] = (0..<sizes[1] * sizes[3]).map { _ in Float.random(in: -50...50, using: &random) }
        }
    }

    mutating func startWindow() {
        position = 0
        update = [1] + [Float](repeating: 0, count: capacity - 1)
        padding = [0] + [Float](repeating: -10_000, count: capacity - 1)
    }

    mutating func step(_ token: Int64) throws -> [String: HostTensor] {
        var inputs = [
            "input_ids": HostTensor([token], [1]), "cache_length": HostTensor([Int64(position)], [1]),
            "kv_cache_update_mask": HostTensor(update, [1, capacity]), "encoder_output_embeds": embeds,
            "decoder_key_padding_mask": HostTensor(padding, [1, capacity]),
        ]
        for (name, cache) in caches {
            inputs[name] = HostTensor(cache, [1, cache.count / capacity, 1, capacity])
        }
        let made = try engine.outputs(of: part, inputs).reduce(into: [String: HostTensor]()) { $0[$1.name] = $1.tensor }
        for name in caches.keys.sorted() {
            let column = try #require(made["\(name)_updates"])
            let channels = column.shape.count
            #expect(column.shape == [1, channels, 1, 1])
            for (channel, number) in column.floats.enumerated() {
                caches[name]?[channel * capacity + position] = number
            }
        }
        update[position] = 0
        position += 1
        if position < capacity { (update[position], padding[position]) = (1, 0) }
        return made
    }

    /// Returns a layer's part of a cache as the states of the part `decoder` hold it, F32[1, heads, positions, head width].
    /// - Parameter rest: has the positions that no token was written to.
    func cache(_ name: String, layer: Int, heads: Int, positions: Int, besides rest: HostTensor) -> HostTensor {
        var floats = rest.floats
        let headWidth = rest.shape.dimensions[3]
        for head in 0..<heads {
            for position in 0..<positions {
                for index in 0..<headWidth {
                    let channel = (layer * heads + head) * headWidth + index
                    floats[(head * capacity + position) * headWidth + index] =
                        caches[name]?[channel * capacity + position] ?? .nan
                }
            }
        }
        return HostTensor(floats, rest.shape)
    }
}
