import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import TestSupport
import Testing

@testable import AccelCalibration
@testable import AccelTensors
@testable import AccelWeightCompression

/// A trained BERT that tells digits of images of 64 pixels, a token each; 360 of them.
struct Digits {
    let part: Program
    private let inputs: [StoredTensor]

    init() throws {
        let checkpoint = try Checkpoint(model: Fixtures.path("digits"))
        let programs = try Families.matching(checkpoint.configuration).model(for: checkpoint, parts: []).programs
        part = try #require(programs.first)
        inputs = try SafetensorsFile(Fixtures.path("digits/golden.safetensors")).tensors
            .filter { $0.name.hasPrefix("in.") }
    }

    /// The inputs of some images.
    func tensors(_ images: Range<Int>) -> [StoredTensor] {
        inputs.map { tensor in
            let width = tensor.shape.dimensions[1]
            return StoredTensor(
                name: tensor.name,
                integers: Array(tensor.integers()[images.lowerBound * width..<images.upperBound * width]),
                shape: [images.count, width])
        }
    }

    func samples(_ images: Range<Int>) throws -> [CalibrationSamples] {
        [try #require(try CalibrationSamples(tensors(images), for: part, file: "digits"))]
    }

    /// All linear weights stored so, by samples.
    func compressed(
        _ scheme: String, samples: [CalibrationSamples], memory: (any StatisticsMemory)? = nil,
        finished: FinishedRuns? = nil
    ) throws -> [String: CompressedTensor] {
        let frozen = try part.freezing(ShapeBindings(fitting: tensors(0..<1), to: part, file: "digits"))
        var recipe = Recipe(
            default: try Codecs.codec("stored"),
            rules: [try Recipe.Rule(operator: "linear", codec: Codecs.codec(scheme))])
        recipe.calibratedWeights = part.multipliedWeights
        var weights = Dictionary(
            uniqueKeysWithValues: try recipe.compressing([frozen], threads: 2).weights.map {
                ($0.tensor.name, $0.tensor)
            })
        let made = try SequentialCompression(samples, memory: memory, finished: finished, threads: 2).run(
            recipe.plan(for: [frozen]), stored: []
        ) { weights, statistics in
            try weights.map {
                try CompressedTensor.compressing($0.source, with: $0.choice.codec, judgedBy: statistics, threads: 2)
            }
        }
        for (name, result) in made { weights[name] = result.tensor }
        return weights
    }

    /// Error by energy of the logits of some images.
    func error(of weights: [String: CompressedTensor], over images: Range<Int>) throws -> Double {
        let run = try SampleRun(try samples(images)[0], threads: 2)
        let reference = try ReferenceOutputs(of: run)
        for weight in weights.values { try run.replace(weight) }
        return try run.error(from: reference)
    }
}

/// Statistics that were asked for and kept.
private final class CountingMemory: StatisticsMemory {
    var kept: [StatisticsLocation: ActivationStatistics] = [:]
    private(set) var hits = 0
    private(set) var misses = 0

    func statistics(at place: StatisticsLocation) -> ActivationStatistics? {
        if kept[place] == nil { misses += 1 } else { hits += 1 }
        return kept[place]
    }
    func keep(_ statistics: ActivationStatistics, at place: StatisticsLocation) throws { kept[place] = statistics }
    func content(of entry: String, at place: StatisticsLocation) -> ByteView? { nil }
    func forgetCounts() { (hits, misses) = (0, 0) }
}

@Suite("Samples", .serialized)
struct CalibrationTests {
    @Test(
        "no method is below the scheme without samples on images that the samples do not hold",
        arguments: [
            "int4", "int4:block=16", "int4:mode=asymmetric", "int8", "palette:bits=4", "palette:bits=3,group=16",
            "palette:bits=2,group=8", "palette:bits=4,group=16,entries=float16",
        ])
    func heldOut(scheme: String) throws {
        let digits = try Digits()
        let samples = try digits.samples(0..<48)
        func error(_ method: String) throws -> Double {
            let weights = try digits.compressed(
                "\(scheme)\(scheme.contains(":") ? "," : ":")method=\(method)", samples: samples)
            return try digits.error(of: weights, over: 200..<248)
        }
        let plain = try error("nearest")
        #expect(try error("weighted") <= plain)
        #expect(try error("gptq") <= plain)
    }

    @Test("statistics are kept: the same way of storing asks for no run, weighted none for another scheme either")
    func memory() throws {
        let digits = try Digits()
        let samples = try digits.samples(0..<24)
        let memory = CountingMemory()
        for (scheme, misses) in [
            ("int4:method=weighted", true), ("palette:bits=4,method=weighted", false), ("int4:method=gptq", true),
            ("int4:method=gptq", false), ("palette:bits=4,method=gptq", true),
        ] {
            memory.forgetCounts()
            let known = memory.kept
            let made = try digits.compressed(scheme, samples: samples, memory: memory)
            let anew = try digits.compressed(scheme, samples: samples)
            for (name, weight) in anew {
                #expect(weight.codec.specification == made[name]?.codec.specification)
                #expect(
                    weight.sections.map { $0.withBytes(Array.init) }
                        == made[name]?.sections.map { $0.withBytes(Array.init) })
            }
            #expect((memory.misses > 0) == misses, "\(scheme)")
            #expect(memory.hits > 0 || known.isEmpty || scheme.contains("gptq"))
        }
        // What the first weights get to see does not depend on the scheme.
        #expect(memory.hits > 0)
    }

    @Test("outputs measured where a compression has stopped are those of runs from the beginning")
    func finished() throws {
        let digits = try Digits()
        let samples = try digits.samples(0..<48)
        let finished = FinishedRuns()
        func compressed() throws -> [CompressedTensor] {
            try digits.compressed("int4:block=16,method=gptq", samples: samples, finished: finished).values
                .sorted { $0.name < $1.name }
        }
        let all = try compressed()
        let calibrated = all.filter { $0.codec.method == .gptq }
        let embedding = try #require(all.first { $0.name.hasSuffix("word_embeddings.weight") })
        let other = try CompressedTensor.compressing(
            embedding.decoded(), with: try Codecs.codec("int4"), threads: 1
        ).tensor
        for weights in [calibrated, all, all.filter { $0.name != embedding.name } + [other]] {
            _ = try compressed()
            let expected = try samples.outputs(with: weights, threads: 2)
            #expect(try samples.outputs(with: weights, after: finished, threads: 2) == expected)
            // The runs are used up.
            #expect(try finished.errors(of: samples[0], with: weights) == nil)
        }
        _ = try compressed()
        #expect(try finished.errors(of: samples[0], with: Array(calibrated.dropLast())) == nil)
    }

    @Test("the file of statistics gives back what was written, and rejects what it cannot be")
    func file() throws {
        let digits = try Digits()
        let memory = CountingMemory()
        _ = try digits.compressed("int4:method=gptq", samples: digits.samples(0..<24), memory: memory)
        let statistics = Dictionary(uniqueKeysWithValues: memory.kept.map { ($0.key.weight, $0.value) })
        #expect(statistics.values.contains { !$0.drift.isEmpty && !$0.heldOut.drifts.isEmpty })
        try withTemporaryFolder { folder in
            let schemes = ["a": "int4", "b": "palette:bits=4"]
            let parts = try StatisticsFile.parts(statistics, schemes: schemes).flatMap { $0.withBytes(Array.init) }
            try AtomicFile.write(ByteView(parts), to: "\(folder)/s.safetensors", as: .internal)
            let read = try StatisticsFile.read("\(folder)/s.safetensors")
            #expect(read.mapValues(\.digest) == statistics.mapValues(\.digest))
            #expect(StatisticsFile.schemes(in: try SafetensorsFile("\(folder)/s.safetensors")) == schemes)
        }
        let metadata = [("columns.0", "2"), ("count.0", "3"), ("input of a", "0")]
        let moments = StoredTensor(name: "moments.0", floats: [1, 0, 1], shape: [3])
        func rejects(_ tensors: [StoredTensor], _ metadata: [(String, String)]) throws {
            let parts = try SafetensorsWriter.parts(tensors, metadata: metadata.map { (key: $0.0, value: $0.1) })
            let file = try SafetensorsFile(ByteView(parts.flatMap { $0.withBytes(Array.init) }), file: "s")
            #expect(throws: FormatError.self) { try StatisticsFile.read(file, path: "s") }
        }
        try rejects([moments, StoredTensor(name: "other", floats: [1], shape: [1])], metadata)
        try rejects([StoredTensor(name: "moments.0", floats: [1, .nan, 1], shape: [3])], metadata)
        try rejects([moments, StoredTensor(name: "drift.0", floats: [1, 2], shape: [1, 2])], metadata)
        try rejects([moments, StoredTensor(name: "held.0", floats: [1, 2, 3], shape: [1, 3])], metadata)
        try rejects([moments, StoredTensor(name: "held-drift.0", floats: [1, 2], shape: [1, 2])], metadata)
        try rejects([moments], [("columns.0", "3"), ("count.0", "3"), ("input of a", "0")])
        try rejects([moments], [("columns.0", "2"), ("count.0", "3"), ("input of a", "1")])
    }

    @Test("what an attention mask hides does not count, and what it does not hide does")
    func mask() throws {
        let digits = try Digits()
        /// - Parameter changed: the place of a token that is another one.
        func moments(hidden: Int?, changed: Int?) throws -> [Float] {
            let tensors = digits.tensors(0..<6).map { tensor -> StoredTensor in
                var values = tensor.integers()
                if tensor.name == "in.attention_mask", let hidden { values[hidden] = 0 }
                if tensor.name == "in.input_ids", let changed { values[changed] = values[changed] == 5 ? 6 : 5 }
                return StoredTensor(name: tensor.name, integers: values, shape: tensor.shape)
            }
            let samples = try #require(try CalibrationSamples(tensors, for: digits.part, file: "digits"))
            let run = try SampleRun(samples, threads: 1)
            let last = try #require(run.weights.lastIndex { $0.contains("layer") })
            try run.run(to: last)
            return try #require(try run.statistics(of: last)).moments
        }
        // In the middle: hidden positions at the end are not even computed.
        let (place, other) = (2 * 65 + 30, 2 * 65 + 31)
        #expect(try moments(hidden: place, changed: place) == moments(hidden: place, changed: nil))
        #expect(try moments(hidden: place, changed: other) != moments(hidden: place, changed: nil))
        #expect(try moments(hidden: nil, changed: place) != moments(hidden: nil, changed: nil))
    }

    @Test("features of frames are whole, though the mask hides the last frames of all samples")
    func features() throws {
        let checkpoint = try Checkpoint(model: Fixtures.path("parakeet_ctc"))
        let programs = try Families.matching(checkpoint.configuration).model(for: checkpoint, parts: []).programs
        let part = try #require(programs.first)
        let golden = try SafetensorsFile(Fixtures.path("parakeet_ctc/golden.safetensors"))
        let tensors = golden.tensors.filter { $0.name.hasPrefix("in.") }.map { tensor -> StoredTensor in
            guard tensor.name == "in.attention_mask" else { return tensor }
            let frames = tensor.shape.dimensions[1]
            let shown = tensor.integers().indices.map { Int64($0 % frames < 40 ? 1 : 0) }
            return StoredTensor(name: tensor.name, integers: shown, shape: tensor.shape)
        }
        let samples = try #require(try CalibrationSamples(tensors, for: part, file: "golden.safetensors"))
        let run = try SampleRun(samples, threads: 1)
        let last = try #require(run.weights.lastIndex { $0.contains("layers.1") })
        try run.run(to: last)
        #expect(try run.statistics(of: last) != nil)
    }
}
