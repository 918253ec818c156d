import AccelByteIO
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

@Suite("Reading Core ML packages")
struct CoreMLReadingTests {
    static let packages = ["weights_iOS16", "weights_iOS18", "states", "encoder", "functions"]

    static func package(_ name: String) throws -> CoreMLPackage {
        try CoreMLPackage(at: Fixtures.path("coreml/\(name).mlpackage"))
    }

    @Test("A model of coremltools, read, written and read again, is the same", arguments: packages)
    func roundTrip(name: String) throws {
        let model = try Self.package(name).model
        #expect(try CoreMLModel(ByteView(model.encoded), file: "again") == model)
    }

    @Test("Functions, inputs, outputs, states and shapes are those that coremltools was given")
    func structure() throws {
        let functions = try Self.package("functions").model
        #expect(functions.interfaces.map(\.function) == ["four", "one"])
        #expect(functions.interfaces[0].inputs.map(\.type.description) == ["fp16[4,20]"])
        #expect(functions.specificationVersion == 9)
        let states = try Self.package("states").model
        #expect(states.interfaces[0].states.map(\.name) == ["cache"])
        #expect(states.interfaces[0].states.map(\.type) == [MILTensorType(.float16, [2, 6])])
        let encoder = try Self.package("encoder").model
        #expect(encoder.interfaces[0].inputs.map(\.enumeratedShapes) == [[[2, 7], [1, 4]], [[2, 7], [1, 4]]])
        #expect(encoder.program.functions[0].inputs.map(\.content.tensor.description) == ["int32[?,?]", "int32[?,?]"])
        #expect(encoder.metadata.other.map(\.name).contains("com.github.apple.coremltools.version"))
    }

    @Test("Every part of a model survives being written and read")
    func everyPart() throws {
        let values: [MILValue] = [
            MILValue("word"), MILValue(true), MILValue(-3), MILValue([1, -2]), MILValue(flags: [true, false]),
            MILValue(MILTensorType(.float32, [2]), .floats([0, -1.5])),
            MILValue(MILTensorType(.float64, []), .doubles([1e300])),
            MILValue(MILTensorType(.int64, [2]), .longs([.min, .max])),
            MILValue(MILTensorType(.uint3, [5]), .bytes([1, 2])), MILValue(MILTensorType(.string, []), .words([""])),
            MILValue(MILTensorType(.float16, [3, 0]), .bytes([])),
            MILValue(MILTensorType(.int4, [9]), .blob(offset: 64)),
            MILValue(MILTensorType(.int4, [1]), .blob(offset: 0)),
        ]
        let constants = values.enumerated().map { index, value in
            MILOperation(
                "const", outputs: [MILNamed("c\(index)", .tensor(value.type))],
                attributes: [MILNamed("name", MILValue("c\(index)")), MILNamed("val", value)])
        }
        let concat = MILOperation(
            "concat", inputs: [MILNamed("values", [.name("x"), .name("x")]), MILNamed("axis", [.value(MILValue(0))])],
            outputs: [MILNamed("y", .tensor(MILTensorType(.float16, [nil, 3])))])
        let function = MILFunction(
            name: "main",
            inputs: [
                MILNamed("x", .tensor(MILTensorType(.float16, [nil, 3]))),
                MILNamed("s", .state(MILTensorType(.float16, [4]))),
            ],
            opset: "CoreML8", operations: constants + [concat], outputs: ["y"])
        typealias Feature = CoreMLModel.Feature
        let interface = CoreMLModel.Interface(
            function: "main",
            inputs: [
                Feature(
                    "x", MILTensorType(.float16, [2, 3]), description: "what is read",
                    shapeRanges: [1...Int.max, 3...3])
            ], outputs: [Feature("y", MILTensorType(.float32, [4, 3]), enumeratedShapes: [[4, 3], [6, 3]])],
            states: [Feature("s", MILTensorType(.float16, [4]))])
        let model = CoreMLModel(
            specificationVersion: 9,
            metadata: .init(
                description: "d", version: "1", author: "a", license: "l",
                other: [MILNamed("k", "v"), MILNamed("l", "")]),
            interfaces: [interface], program: MILProgram(functions: [function]))
        #expect(try CoreMLModel(ByteView(model.encoded), file: "again") == model)
    }

    @Test("A model that is cut off anywhere is rejected or reads as a shorter one", arguments: packages)
    func truncated(name: String) throws {
        let bytes = try Self.package(name).model.encoded
        for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 500)) {
            #expect(throws: FormatError.self) { try CoreMLModel(ByteView(Array(bytes[..<count])), file: "cut") }
        }
    }

    @Test("Models of other kinds are rejected by name")
    func otherKinds() throws {
        for (field, kind) in [(500, "neural network"), (202, "pipeline"), (555, "field 555")] {
            var writer = ProtobufWriter()
            writer.integer(1, 4)
            writer.message(field) { _ in }
            #expect { try CoreMLModel(writer.view, file: "m") } throws: { "\($0)".contains(kind) }
        }
    }

    @Test("A manifest that lies is rejected, with the field or the file", arguments: Attack.coreMLManifests)
    func manifests(attack: Attack) throws {
        try withTemporaryFolder { folder in
            try Files.makeFolder("\(folder)/Data/folder")
            let model = "\(Fixtures.path("coreml/states.mlpackage"))/Data/com.apple.CoreML/model.mlmodel"
            try Files.copy(model, to: "\(folder)/Data/model.mlmodel")
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder)/Data/link.mlmodel", withDestinationPath: "model.mlmodel")
            try Data(attack.bytes).write(to: URL(filePath: "\(folder)/Manifest.json"))
            guard case .rejected(let place, let words) = attack.verdict else {
                _ = try CoreMLPackage(at: folder)
                return
            }
            let error = #expect(throws: FormatError.self) { try CoreMLPackage(at: folder) }
            #expect(error?.location == place && error?.reason.contains(words) == true, "\(String(describing: error))")
        }
    }

    @Test("A blob's description is judged, with the place and the reason", arguments: Attack.coreMLBlobs)
    func blobs(attack: Attack) {
        #expect(attack.flaw { _ = try BlobReader($0, file: $1).entry(at: 64) } == nil)
    }

    @Test("A blob is found where its description is, and nowhere else")
    func blobPlaces() throws {
        let path = "\(Fixtures.path("coreml/functions.mlpackage"))/Data/com.apple.CoreML/weights/weight.bin"
        let bytes = try MappedFile(path).bytes.withBytes { Array($0) }
        let entry = try BlobReader(ByteView(bytes), file: "w").entry(at: 64)
        #expect(entry.dataType == .float16 && entry.elements == 160)
        let reader = try BlobReader(ByteView(bytes), file: "w")
        for place in [0, 63, 65, 1 << 40, .max] {
            #expect(throws: FormatError.self) { try reader.entry(at: place) }
        }
    }
}
