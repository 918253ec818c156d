import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelPackages

@Suite("States in the package format")
struct StateDeclarationTests {
    /// A running sum, of `width` numbers that start as `initial`.
    private static func counter(_ name: String, width: Int = 3, from initial: Double = 0.5) throws -> FrozenProgram {
        var builder = ProgramBuilder(name: name)
        let x = builder.input("x", TensorType(.float32, [.fixed(width)]))
        let sum = builder.state("sum", TensorType(.float32, [.fixed(width)]), initial: initial)
        builder.update("sum", to: try builder.apply(Add(), [sum, x]))
        builder.output("before", sum)
        return try builder.finish().freezing(ShapeBindings())
    }

    private static func graph() throws -> ModelGraph {
        try CompressedProgram(
            functions: [try counter("first"), try counter("second"), try counter("wide", width: 5)], weights: []
        ).graph()
    }

    @Test("name, type, shape and initial value are in the manifest, by its schema, and in the program")
    func declared() throws {
        try withTemporaryFolder { folder in
            var contents = try TinyModel().contents()
            contents.graph = try Self.graph()
            contents.coverage = []
            try PackageWriter.write(contents, to: "\(folder)/p")
            let document = try JSON.read("\(folder)/p/manifest.json")
            #expect(try JSONSchema(named: "manifest.schema.json").violations(of: document) == [])
            let state = try JSONField(document, file: "manifest.json")["functions"].array()[0]["state"].array()[0]
            #expect(state.value?.text() == #"{"name":"sum","type":"F32","shape":[3],"initial":0.5}"#)
            let package = try AcceleratorPackage(at: "\(folder)/p")
            let expected = FrozenProgram.State(name: "sum", elementType: .float32, shape: [3], initial: 0.5)
            #expect(package.graph.functions[0].states == [expected])
            #expect(package.manifest.functions[1].states == [expected])
        }
    }

    /// A cache of 4 rows, in float16.
    private static func halves() throws -> [FrozenProgram] {
        var builder = ProgramBuilder(name: "cache")
        let row = builder.input("row", TensorType(.float32, [1, 3]))
        let place = builder.input("place", TensorType(.int64, [1]))
        let cache = builder.state("cache", TensorType(.float32, [4, 3]), initial: 0.25)
        let next = try builder.apply(UpdateSlice(axis: 0), [cache, row, place])
        builder.update("cache", to: next)
        builder.output("all", next)
        return try [builder.finish().freezing(ShapeBindings())].keepingCaches(in: .float16)
    }

    @Test("caches of float16 are in the graph, the manifest and the provenance, and readers need a feature for them")
    func halfStates() throws {
        try withTemporaryFolder { folder in
            var contents = try TinyModel().contents()
            contents.graph = try CompressedProgram(functions: Self.halves(), weights: []).graph()
            contents.coverage = []
            contents.provenance.codecVersions = [:]
            contents.provenance.states = .float16
            try PackageWriter.write(contents, to: "\(folder)/p")
            let document = try JSON.read("\(folder)/p/manifest.json")
            #expect(try JSONSchema(named: "manifest.schema.json").violations(of: document) == [])
            let package = try AcceleratorPackage(at: "\(folder)/p")
            try package.check(includesReport: false)
            let state = FrozenProgram.State(name: "cache", elementType: .float16, shape: [4, 3], initial: 0.25)
            #expect(package.graph.functions[0].states == [state])
            #expect(package.manifest.provenance.states == .float16)
            #expect(package.manifest.requiredFeatures.contains("half-states"))
            #expect(package.graph.functions[0].program.lines == contents.graph.functions[0].program.lines)
            // Without such a cache, the provenance is wrong.
            contents.graph = try Self.graph()
            try PackageWriter.write(contents, to: "\(folder)/q")
            let error = #expect(throws: FormatError.self) {
                try AcceleratorPackage(at: "\(folder)/q").check(includesReport: false)
            }
            #expect(error?.reason.contains("no state is F16") == true)
        }
    }

    @Test("inputs and outputs of float16, and initial values that float16 does not hold, are rejected")
    func halfPorts() throws {
        let function = try Self.halves()[0]
        let program = function.program
        let cache = program.states[0]
        func changed(_ change: (Program) -> Program) throws -> ModelGraph {
            ModelGraph(
                functions: [FrozenProgram(frozen: change(program), bindings: function.bindings)],
                tensors: try CompressedProgram(functions: [function], weights: []).graph().tensors)
        }
        var types = program.types
        types[program.inputs[0].value.id].elementType = .float16
        let wrong: [(String, ModelGraph)] = try [
            ("F16", changed { $0.with(types: types) }),
            ("outputs are F32", changed { $0.with(outputs: [.init(name: "all", value: cache.next)]) }),
            (
                "F16 does not hold",
                changed {
                    $0.with(states: [.init(name: cache.name, value: cache.value, next: cache.next, initial: 0.1)])
                }
            ),
        ]
        for (reason, graph) in wrong {
            let bytes = try GraphEncoder.encode(graph)
            let error = #expect(throws: FormatError.self) {
                _ = try GraphDecoder(bytes, file: "graph.bin").functions(graph.tensors)
            }
            #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "nothing")")
        }
    }

    /// A step of attention over two caches of 4 positions, in int8. The last axis has 3 codes, and the scale of a row.
    private static func bytes() throws -> FrozenProgram {
        var builder = ProgramBuilder(name: "cache")
        let row = builder.input("row", TensorType(.float32, [1, 2, 1, 3]))
        let place = builder.input("place", TensorType(.int64, [1]))
        let caches = try ["keys", "values"].map { name in
            let cache = builder.state(name, TensorType(.float32, [1, 2, 4, 3]))
            let next = try builder.apply(UpdateSlice(axis: 2), [cache, row, place])
            builder.update(name, to: next)
            return next
        }
        builder.output("y", try builder.apply(Attention(scale: 1), [row] + caches))
        return try [builder.finish().freezing(ShapeBindings())].keepingCaches(in: .int8)[0]
    }

    @Test("caches of int8 are in the graph, the manifest and the provenance, and readers need another feature for them")
    func byteStates() throws {
        try withTemporaryFolder { folder in
            var contents = try TinyModel().contents()
            contents.graph = try CompressedProgram(functions: [Self.bytes()], weights: []).graph()
            contents.coverage = []
            contents.provenance.codecVersions = [:]
            contents.provenance.states = .int8
            try PackageWriter.write(contents, to: "\(folder)/p")
            let document = try JSON.read("\(folder)/p/manifest.json")
            #expect(try JSONSchema(named: "manifest.schema.json").violations(of: document) == [])
            let package = try AcceleratorPackage(at: "\(folder)/p")
            try package.check(includesReport: false)
            #expect(package.graph.functions[0].states.map(\.typeText) == ["I8[1,2,4,7]", "I8[1,2,4,7]"])
            #expect(package.manifest.provenance.states == .int8)
            #expect(package.manifest.requiredFeatures.contains("byte-states"))
            #expect(!package.manifest.requiredFeatures.contains("half-states"))
            #expect(package.graph.functions[0].program.lines == contents.graph.functions[0].program.lines)
            contents.provenance.states = .float16
            try PackageWriter.write(contents, to: "\(folder)/q")
            let error = #expect(throws: FormatError.self) {
                try AcceleratorPackage(at: "\(folder)/q").check(includesReport: false)
            }
            #expect(error?.reason.contains("no state is F16") == true)
        }
    }

    @Test("caches of int8 of the wrong width, without room for a scale, with another start, or as outputs are rejected")
    func bytePorts() throws {
        let function = try Self.bytes()
        let program = function.program
        let keys = program.states[0]
        let updated = try #require(program.nodes.firstIndex { $0.operation is UpdateSlice })
        func rejected(_ reason: String, _ change: Program) throws {
            let graph = ModelGraph(
                functions: [FrozenProgram(frozen: change, bindings: function.bindings)],
                tensors: try CompressedProgram(functions: [function], weights: []).graph().tensors)
            let bytes = try GraphEncoder.encode(graph)
            let error = #expect(throws: FormatError.self) {
                _ = try GraphDecoder(bytes, file: "graph.bin").functions(graph.tensors)
            }
            #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "nothing")")
        }
        func sized(_ width: Int, _ type: ElementType = .int8) -> [TensorType] {
            var types = program.types
            for value in [keys.value] + program.nodes[updated].outputs {
                types[value.id] = TensorType(type, types[value.id].dimensions.dropLast() + [.fixed(width)])
            }
            return types
        }
        // One column too many or too few for the block that is written; only a scale; nothing at all.
        for width in [8, 6] { try rejected("block, axis 3", program.with(types: sized(width))) }
        for width in [4, 1, 0] { try rejected("rows of I8 have codes", program.with(types: sized(width))) }
        try rejected("block: expected", program.with(types: sized(7, .int64)))
        try rejected(
            "rows of I8 have codes",
            program.with(
                states: program.states.map { .init(name: $0.name, value: $0.value, next: $0.next, initial: 1) }))
        try rejected("outputs are F32", program.with(outputs: [.init(name: "y", value: keys.next)]))
        var types = program.types
        types[program.inputs[0].value.id] = TensorType(.int8, [1, 2, 1, 7])
        try rejected("I8", program.with(types: types))
        // A query of another width than the keys have codes.
        types = program.types
        types[program.inputs[0].value.id] = TensorType(.float32, [1, 2, 1, 4])
        try rejected("block, axis 3", program.with(types: types))
    }

    @Test("a manifest that says another state than the program is rejected")
    func manifestDiffers() throws {
        try withTemporaryFolder { folder in
            var contents = try TinyModel().contents()
            contents.graph = try Self.graph()
            contents.coverage = []
            try PackageWriter.write(contents, to: "\(folder)/p")
            var manifest = try AcceleratorPackage(at: "\(folder)/p").manifest
            manifest.functions[0].states[0].initial = 2
            try write(Array(manifest.text.utf8), to: "\(folder)/p/manifest.json")
            let error = try #require(throws: FormatError.self) { try AcceleratorPackage(at: "\(folder)/p") }
            #expect(error.reason.contains("does not say what graph.bin holds"), "\(error)")
        }
    }
}
