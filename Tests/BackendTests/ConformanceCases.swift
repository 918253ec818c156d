import Accel
import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import BackendConformance
import Foundation
import TestSupport

/// Packages of several families and of all operators.
struct ConformanceCases {
    private let temporary: TemporaryFolder
    private var folder: String { temporary.path }

    /// Packages lie in a folder that goes with this value.
    init() throws {
        temporary = try TemporaryFolder(beside: "\(FileManager.default.temporaryDirectory.path)/conformance")
    }

    static let encoders = ["bert_base", "modernbert_model", "vit_tall", "snac_plain", "clip_end"]
    static let decoders = ["gpt2_small", "qwen3_small", "gemma3_old"]

    func all() throws -> [ConformanceCase] {
        try Self.encoders.map { try encoder($0, "float32") } + [encoder("bert_base", "int8")]
            + Self.decoders.map { try decoder($0, "float32") } + [decoder("qwen3_small", "int4:block=32"), whisper()]
            + [decoder("qwen3_small", "float32", states: .float16), decoder("gpt2_small", "float32", states: .int8)]
            + [operators()]
    }

    private func write(_ name: String, _ functions: [FrozenProgram], _ codec: String) throws -> String {
        let recipe = Recipe(default: try Codecs.codec(codec))
        let compressed = try recipe.compressing(functions, threads: 2)
        let contents = PackageContents(
            graph: try compressed.graph(), coverage: compressed.weights.map(CoverageEntry.init),
            provenance: Provenance(
                sources: [], family: "conformance", recipe: recipe.json, shapes: functions.map(\.functionName)))
        let path = "\(folder)/\(name).accelpkg"
        try PackageWriter.write(contents, to: path)
        return path
    }

    private func programs(_ fixture: String) throws -> [Program] {
        let checkpoint = try Checkpoint(model: Fixtures.path(fixture))
        return try Families.matching(checkpoint.configuration).model(for: checkpoint, parts: []).programs
    }

    /// A package of a fixture's functions at a shape.
    func package(_ fixture: String, _ numbers: [String: Int]...) throws -> String {
        let frozen = try programs(fixture).freezing(numbers.map { ShapeBindings($0) })
        return try write("\(fixture)-of-apps", frozen, "float32")
    }

    /// A package of one product with a square weight.
    func product(_ codec: String, width: Int) throws -> String {
        var (builder, generator) = (ProgramBuilder(name: "product"), SeededGenerator(seed: 7))
        let numbers = (0..<width * width).map { _ in Float.random(in: -1...1, using: &generator) }
        let weight = builder.constant(StoredTensor(name: "w", floats: numbers, shape: [width, width]), isWeight: true)
        let x = builder.input("x", TensorType(.float32, shape: [1, width]))
        builder.output("y", try builder.apply(Linear(), [x, weight]))
        return try write("product", [try builder.finish().freezing(ShapeBindings())], codec)
    }

    /// Every function on the framework's inputs; without lossy weights, the outputs are within 4 times the framework's
    /// own float32 error of its float64 ones.
    func encoder(_ fixture: String, _ codec: String) throws -> ConformanceCase {
        let golden = try SafetensorsFile(Fixtures.path("\(fixture)/golden.safetensors"))
        let noise = JSONField(try JSON.read(Fixtures.path("\(fixture)/case.json")), file: "case.json")["fp32_noise"]
        let frozen = try programs(fixture).map { program in
            try program.freezing(try ShapeBindings(fitting: golden.tensors, to: program, file: fixture))
        }
        let path = try write("\(fixture)-\(codec)", frozen, codec)
        let runs = try frozen.map { function in
            let inputs = function.inputs.compactMap { port in golden["in.\(port.name)"].map { (port.name, $0) } }
            let expected =
                try codec == "float32"
                ? function.outputs.compactMap { port in
                    try golden["ref64.\(port.name)"].map {
                        ConformanceCase.Golden(
                            port.name, $0.floats(), limit: 4 * (try noise[port.name]["max_abs_fp32_vs_64"].double()))
                    }
                } : []
            return [
                ConformanceCase.Run(
                    function.functionName, Dictionary(uniqueKeysWithValues: inputs), golden: expected)
            ]
        }
        return try ConformanceCase("\(fixture) \(codec)", package: path, runs)
    }

    /// A prefill of 4 tokens and 4 steps over the cache that they share.
    func decoder(
        _ fixture: String, _ codec: String, states: StateStorage = .float32
    ) throws -> ConformanceCase {
        return try sequence(
            fixture, codec, ["batch": 1], cache: 16, [Self.tokens(8)], blocks: [4, 1, 1, 1, 1], states: states)
    }

    /// Tokens that every fixture's vocabulary has.
    static func tokens(_ count: Int) -> StoredTensor {
        var generator = SeededGenerator(seed: 5)
        let integers = (0..<count).map { _ in Int64(UInt64.random(in: 0..<40, using: &generator)) }
        return StoredTensor(name: "input_ids", integers: integers, shape: [1, count])
    }

    /// An encoder, the keys and values of its outputs, and a decoder that reads them.
    func whisper() throws -> ConformanceCase {
        let golden = try SafetensorsFile(Fixtures.path("whisper_small/golden.safetensors"))
        let inputs = FunctionInputs(golden.tensors, file: "golden")
        let frames = inputs.tensors["input_features"]?.shape.dimensions[2]
        let ids = inputs.tensors["decoder_input_ids"]?.shape.dimensions ?? [1, 1]
        var numbers = ["batch": ids[0]]
        numbers["frames"] = frames
        return try sequence(
            "whisper_small", "float32", numbers, cache: ids[1], Array(inputs.tensors.values),
            blocks: [ids[1] - 2, 1, 1])
    }

    private func sequence(
        _ fixture: String, _ codec: String, _ numbers: [String: Int], cache: Int, _ tensors: [StoredTensor],
        blocks: [Int], states storage: StateStorage = .float32
    ) throws -> ConformanceCase {
        let lengths = Set(blocks).sorted(by: >)
        let frozen = try programs(fixture).freezing(
            lengths.map { ShapeBindings(numbers.merging(["tokens": $0, "cache": cache]) { own, _ in own }) }
        ).keepingCaches(in: storage)
        let path = try write("\(fixture)-\(codec.prefix(4))-\(storage.rawValue)", frozen, codec)
        let runs = try Self.runs(of: path, tensors, inBlocksOf: blocks, name: fixture)
        let name = "\(fixture) \(codec), in blocks"
        // Another order of sums may round a number to the next float16, half a unit of which is 2^-12 of it, or to the next
        // code, half a unit of which is 2^-8 of the largest number of its row.
        return switch storage {
        case .float32: try ConformanceCase(name, package: path, [runs])
        case .float16: try ConformanceCase("\(name), float16 states", package: path, [runs], tolerance: 0x1p-12)
        case .int8: try ConformanceCase("\(name), int8 states", package: path, [runs], tolerance: 0x1p-8)
        }
    }

    /// Runs of a decoder's package over a sequence of tokens.
    static func runs(
        of path: String, _ tensors: [StoredTensor], inBlocksOf blocks: [Int], name: String
    ) throws -> [ConformanceCase.Run] {
        let graph = try AcceleratorPackage(at: path).graph
        let named = Dictionary(tensors.map { ($0.name, $0) }) { first, _ in first }
        guard let steps = try DecodingPlan(graph.planned(), named)?.steps(inBlocksOf: blocks) else {
            throw RequestError("\(name) takes no tokens")
        }
        // What a step takes from those before it is what the reference meaning makes there.
        var (states, made) = ([FrozenProgram.Port: HostTensor](), [String: HostTensor]())
        return try steps.map { step in
            let inputs = step.inputs(carrying: made) { HostTensor($0) }
            let function = graph.functions[step.function]
            for (name, tensor) in try graph.run(function, inputs, &states) { made[name] = tensor }
            let stored = Dictionary(uniqueKeysWithValues: inputs.map { ($0, $1.stored(name: $0)) })
            return ConformanceCase.Run(function.functionName, stored)
        }
    }

    /// A function for each sample of an operator.
    func operators() throws -> ConformanceCase {
        var runs: [[ConformanceCase.Run]] = []
        let functions = try OperatorSample.all.map { sample in
            var builder = ProgramBuilder(name: sample.name)
            let tensors = try sample.portInputs()
            let values = tensors.enumerated().map { builder.input("x\($0)", $1.type) }
            for (index, value) in try sample.applied(to: values, in: &builder).enumerated() {
                builder.output("y\(index)", value)
            }
            let inputs = tensors.enumerated().map { ("x\($0)", $1.stored(name: "x\($0)")) }
            runs.append([ConformanceCase.Run(sample.name, Dictionary(uniqueKeysWithValues: inputs))])
            return try builder.finish().freezing(ShapeBindings())
        }
        return try ConformanceCase("operators", package: try write("operators", functions, "float32"), runs)
    }
}
