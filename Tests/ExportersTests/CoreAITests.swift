import AccelByteIO
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

/// Core AI models that accelc writes and reads. scripts/peers/coreai.py runs them in Apple's runtime.
@Suite("Core AI models")
struct CoreAITests {
    /// A fixture, frozen and compressed.
    private struct Model {
        let exported: ExportedModel
        let planned: PlannedExport

        init(_ fixture: String, _ scheme: String, shapes: [String] = []) throws {
            let model = try ModelFormats.open(Fixtures.path(fixture)).model()
            let bindings = try shapes.map { try ShapeBindings(parsing: $0) }
            let functions =
                shapes.isEmpty
                ? try model.programs.freezingToUsualShapes()
                : try model.programs.flatMap { program in try bindings.map { try program.freezing($0) } }
            let recipe = Recipe(default: try Codecs.codec(scheme))
            planned = PlannedExport(functions, recipe.plan(for: functions), family: model.family)
            exported = ExportedModel(
                program: try recipe.compressing(functions, threads: 1), family: model.family,
                provenance: [("accelc.version", "x")])
        }

        func write(to path: String, precision: String = "float32", fallback: Bool = false) throws -> ExportReport {
            let values = ExportOptionValues(
                words: ["precision": precision], flags: fallback ? ["allow-fallback"] : [])
            let exporter = CoreAIExporter(values)
            _ = try exporter.check(planned)
            return try exporter.export(exported, to: path)
        }
    }

    private func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }

    // MARK: - Bytecode

    @Test("Numbers have the bytes of MLIR's bytecode, and read back")
    func numbers() throws {
        let known: [(UInt64, [UInt8])] = [
            (0, [1]), (1, [3]), (2, [5]), (127, [0xFF]), (128, [0x02, 0x02]), (1 << 56, [0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ]
        for (number, wanted) in known {
            var writer = ByteWriter()
            writer.number(number)
            #expect(writer.bytes == wanted, "\(number)")
        }
        var writer = ByteWriter()
        writer.signed(.min)
        #expect(writer.bytes == [UInt8](repeating: 0xFF, count: 9).enumerated().map { $0.offset == 0 ? 0 : $0.element })
        for shift in 0..<64 {
            for number in [UInt64(1) << UInt64(shift), (UInt64(1) << UInt64(shift)) &- 1] {
                var writer = ByteWriter()
                writer.number(number)
                writer.signed(Int64(bitPattern: number))
                writer.signed(-Int64(bitPattern: number >> 1))
                var reader = ByteReader(ByteView(writer.bytes), file: "x")
                #expect(try reader.variable() == number)
                #expect(try reader.signed() == Int64(bitPattern: number))
                #expect(try reader.signed() == -Int64(bitPattern: number >> 1))
                #expect(reader.isAtEnd)
            }
        }
    }

    @Test("The export of the fixture has the bytes that Apple's runtime has run")
    func pinned() throws {
        try withTemporaryFolder { folder in
            let model = try Model(
                "llama_bfloat16", "int4:block=32", shapes: ["batch=1,tokens=4,cache=6", "batch=1,tokens=1,cache=6"])
            let (path, fixture) = ("\(folder)/x.aimodel", Fixtures.path("coreai/llama_int4.aimodel"))
            _ = try model.write(to: path)
            for name in ["main.mlirb", "main.hash"] {
                #expect(try bytes("\(path)/\(name)") == bytes("\(fixture)/\(name)"), "\(name)")
            }
        }
    }

    @Test("The golden of Apple's runtime is what the program computes")
    func golden() throws {
        let golden = try SafetensorsFile(Fixtures.path("coreai/llama_int4.golden.safetensors"))
        let tokens = HostTensor(try #require(golden["in.input_ids"])).integers
        let model = try Model(
            "llama_bfloat16", "int4:block=32", shapes: ["batch=1,tokens=4,cache=6", "batch=1,tokens=1,cache=6"])
        let weights = Dictionary(
            uniqueKeysWithValues: model.exported.program.weights.map {
                ($0.tensor.name, StoredTensor(name: $0.tensor.name, floats: $0.tensor.floats(), shape: $0.tensor.shape))
            })
        var states: [String: HostTensor] = [:]
        for (function, first) in zip(model.exported.program.functions, [0, 4]) {
            let count = first == 0 ? 4 : 1
            let program = function.program.with(
                constants: function.program.constants.map { constant in
                    Program.Constant(
                        name: constant.name, elementType: constant.elementType, shape: constant.shape,
                        isWeight: constant.isWeight, value: constant.value,
                        tensor: weights[constant.name] ?? constant.tensor)
                })
            let found = try FrozenProgram(program, bindings: function.bindings).evaluate(
                [
                    "input_ids": HostTensor(Array(tokens[first..<first + count]), [1, count]),
                    "position": HostTensor([Int64(first)], [1]),
                ], states: &states)
            let expected = try #require(golden["out.\(first)"]).floats()
            let logits = try #require(found.first).tensor.floats
            #expect(logits.count == expected.count)
            let largest = expected.map(abs).max() ?? 0
            for (own, wanted) in zip(logits, expected) { #expect(abs(own - wanted) < 1e-5 * largest) }
        }
    }

    // MARK: - Models

    private static let fixtures = [
        "bert_base", "whisper_small", "kokoro_small", "snac_plain", "wav2vec2_odd", "vit_tall", "gemma3_old",
        "modernbert_model",
    ]

    @Test(
        "A model of any family is written with equal bytes each time, and its program reads back", arguments: fixtures)
    func families(fixture: String) throws {
        try withTemporaryFolder { folder in
            let model = try Model(fixture, "int8")
            for precision in ["float32", "float16"] {
                let paths = ["a", "b"].map { "\(folder)/\(precision)-\($0).aimodel" }
                for path in paths { _ = try model.write(to: path, precision: precision, fallback: true) }
                for name in ["main.mlirb", "main.hash", "metadata.json"] {
                    #expect(try bytes("\(paths[0])/\(name)") == bytes("\(paths[1])/\(name)"), "\(name)")
                }
                let package = try CoreAIPackage(at: paths[0])
                #expect(try package.check())
                #expect(package.encodedModule == (try bytes("\(paths[0])/main.mlirb")))
                #expect(package.functionNames.count == model.exported.program.functions.count)
                try CoreAIExporter.output.requireReplaceable(paths[0])
            }
        }
    }

    @Test("Functions share the bytes of weights, and states are arguments with the names of results")
    func sharing() throws {
        try withTemporaryFolder { folder in
            let shapes = ["batch=1,tokens=4,cache=6", "batch=1,tokens=1,cache=6"]
            let (one, two) = ("\(folder)/one.aimodel", "\(folder)/two.aimodel")
            _ = try Model("llama_bfloat16", "float32", shapes: [shapes[0]]).write(to: one)
            _ = try Model("llama_bfloat16", "float32", shapes: shapes).write(to: two)
            let (single, both) = (try CoreAIPackage(at: one), try CoreAIPackage(at: two))
            #expect(single.functionNames == ["main"] && both.functionNames.count == 2)
            #expect(both.module.resources.count == single.module.resources.count)
            let graph = try #require(both.graphs.last)
            let block = try #require(graph.regions.first)
            let handles = block.arguments.filter { if case .handle = $0 { true } else { false } }
            let writes = block.operations.filter { $0.name == "dataflow.write_handle_v1" }
            #expect(handles.count == 4 && writes.count == 4)
        }
    }

    @Test("A composite is one private graph for all calls with its shapes")
    func composites() throws {
        let model = try Model("bert_base", "float32")
        try withTemporaryFolder { folder in
            _ = try model.write(to: "\(folder)/a.aimodel")
            let graphs = try CoreAIPackage(at: "\(folder)/a.aimodel").graphs
            let calls = graphs.flatMap { $0.regions.flatMap(\.operations) }.filter { $0.name == CoreAIOperation.invoke }
            #expect(graphs.count == 3 && calls.count == 7)
            let plain = CoreAIExporter(ExportOptionValues(words: ["composites": "no"]))
            _ = try plain.export(model.exported, to: "\(folder)/b.aimodel")
            #expect(try CoreAIPackage(at: "\(folder)/b.aimodel").graphs.count == 1)
        }
    }

    @Test("Every operator has a rule, is decomposed, or is rejected with advice")
    func operators() {
        let decomposed = Set(Operators.all.map { $0.name }).subtracting(CoreAIRules.byName.keys)
            .subtracting(CoreAIRules.unsupported.keys)
        #expect(
            decomposed == [
                Attention.name, Elu.name, GroupNorm.name, InstanceNorm.name, L2Norm.name, LSTMCell.name, LayerNorm.name,
                LeakyRelu.name, RMSNorm.name, Rope.name, Snake.name,
            ])
    }

    // MARK: - Weights

    private static let schemes = [
        "float32", "float16", "bfloat16", "int8", "int8:axis=tensor", "int8:axis=channel,mode=asymmetric",
        "int4:block=32",
        "int4:block=32,mode=asymmetric", "affine:bits=2,block=32", "affine:bits=3,block=32", "affine:bits=4,block=32",
        "affine:bits=5,block=32", "affine:bits=6,block=32", "affine:bits=8,block=32", "nf4:block=32", "float8",
        "float8:type=e5m2", "float8:scale=block", "palette:bits=1", "palette:bits=3", "palette:bits=6",
        "palette:bits=4,group=16", "palette:bits=4,group=16,entries=int8", "palette:bits=4,group=16,scale=channel",
        "vector:bits=4,size=2", "sparse:target=0.5+float16", "sparse:target=0.5+int8:axis=tensor",
        "sparse:target=0.5+palette:bits=4",
    ]

    @Test("Weights of every scheme read back as the codec decodes them", arguments: schemes)
    func weights(scheme: String) throws {
        let model = try Model("llama_bfloat16", scheme, shapes: ["batch=1,tokens=1,cache=2"])
        try withTemporaryFolder { folder in
            let path = "\(folder)/x.aimodel"
            let report = try model.write(to: path)
            let found = try ModelFormats.open(path).weights
            let wanted = model.exported.program.weights
            #expect(found.map(\.name) == wanted.map(\.tensor.name).sorted())
            for weight in wanted {
                let own = try #require(found.first { $0.name == weight.tensor.name })
                #expect(own.shape == weight.tensor.shape)
                let (values, decoded) = (try own.values().floats(), weight.tensor.floats())
                // A minimum is the product of a scale and an offset, rounded.
                let noise = zip(values, decoded).map { abs($0 - $1) }.max() ?? 0
                #expect(noise <= (scheme.hasPrefix("affine") ? 2e-7 : 0) * (decoded.map(abs).max() ?? 0), "\(own.name)")
            }
            // Nothing is stored expanded: the bits are the codec's, but for scales that one block of float32 may have.
            let bits =
                Double(wanted.reduce(0) { $0 + $1.tensor.byteCount * 8 })
                / Double(wanted.reduce(0) { $0 + $1.tensor.shape.count })
            #expect(report.bitsPerWeight <= bits * 1.25 + 0.1, "\(report.bitsPerWeight), \(bits)")
        }
    }

    /// A scheme, and what the rejection says.
    private static let rejections: [(scheme: String, words: [String])] = [
        ("outliers:share=0.01+int8", ["outliers", "no operation of Core AI's holds it", "allow-fallback"]),
        ("sparse:target=0.5+int8:axis=channel", ["kept weights with several scales", "sparse+palette"]),
    ]

    @Test(
        "A scheme that Core AI lacks is rejected before compression, and written as plain numbers with a fallback",
        arguments: rejections.indices)
    func rejected(index: Int) throws {
        let (scheme, words) = Self.rejections[index]
        let model = try Model("llama_bfloat16", scheme, shapes: ["batch=1,tokens=1,cache=2"])
        let error = #expect(throws: RequestError.self) {
            try CoreAIExporter(ExportOptionValues()).check(model.planned)
        }
        let diagnostic = error?.diagnostic
        for word in words {
            #expect(diagnostic?.text.contains(word) == true || diagnostic?.candidates.contains(word) == true, "\(word)")
        }
        let gaps = try CoreAIExporter(ExportOptionValues(flags: ["allow-fallback"])).check(model.planned)
        #expect(!gaps.isEmpty)
    }

    // MARK: - Hostile files

    @Test("A program that is cut or changed is rejected, or reads back as what is written for it")
    func damaged() throws {
        let sound = try bytes("\(Fixtures.path("coreai/llama_int4.aimodel"))/main.mlirb")
        var generator = SeededGenerator(seed: 5)
        var rejected = 0
        func read(_ bytes: [UInt8]) {
            do {
                let package = try CoreAIPackage(module: ByteView(bytes), metadata: nil, hash: nil, path: "x")
                let written = package.encodedModule
                let again = try CoreAIPackage(module: ByteView(written), metadata: nil, hash: nil, path: "x")
                #expect(again.encodedModule == written)
                for weight in (try? CoreAISource(package).weights) ?? [] where weight.shape.count < 1 << 16 {
                    _ = try? weight.values()
                }
            } catch is FormatError {
                rejected += 1
            } catch { Issue.record("\(error)") }
        }
        for count in stride(from: 0, to: sound.count, by: 997) { read(Array(sound[..<count])) }
        for _ in 0..<300 {
            var changed = sound
            // The tables stand at both ends, around the weights.
            let end = Bool.random(using: &generator) ? 0..<12_000 : sound.count - 6000..<sound.count
            changed[Int.random(in: end, using: &generator)] ^= UInt8.random(in: 1...255, using: &generator)
            read(changed)
        }
        #expect(rejected > 100)
    }

    @Test("Attributes that hold themselves, or stand for very many, are rejected")
    func recursion() throws {
        func table(_ entries: [[UInt8]]) -> CoreAITableReader {
            CoreAITableReader(
                attributes: entries.map { (ByteView($0), 0) }, types: [], strings: [], file: "x")
        }
        let reader = ByteReader(ByteView([0] as [UInt8]), file: "x")
        // An array (5) of itself; and arrays that each hold the next one twice.
        var own = table([[11, 3, 1]])
        #expect(throws: FormatError.self) { try own.attribute(0, reader) }
        func twice(_ next: Int) -> [UInt8] {
            var writer = ByteWriter()
            for number in [5, 2, next, next] { writer.number(number) }
            return writer.bytes
        }
        var deep = table((1...40).map(twice) + [[11, 1]])
        #expect(throws: FormatError.self) { try deep.attribute(0, reader) }
        var wide = table((1...12).map(twice) + [[11, 1]])
        #expect(throws: Never.self) { try wide.attribute(0, reader) }
    }
}
