#if canImport(CoreML)
    import AccelByteIO
    import CoreML
    import Foundation
    import AccelPrograms
    import AccelTensors
    import TestSupport
    import Testing
    import AccelWeightCompression

    @testable import AccelFormats

    /// Core ML itself runs what is written; only Apple's systems have it.
    @Suite("Core ML runs what is written as the interpreter does")
    struct CoreMLDeviceTests {
        private func array(_ tensor: HostTensor) throws -> MLMultiArray {
            let isFloat = tensor.elementType.isFloatingPoint
            let array = try MLMultiArray(
                shape: tensor.shape.dimensions.map { NSNumber(value: $0) }, dataType: isFloat ? .float32 : .int32)
            for (index, number) in tensor.floats.enumerated() where isFloat { array[index] = NSNumber(value: number) }
            for (index, number) in tensor.integers.enumerated() where !isFloat {
                array[index] = NSNumber(value: number)
            }
            return array
        }

        private func floats(_ value: MLMultiArray) -> [Float] {
            (0..<value.count).map { value[$0].floatValue }
        }

        @Test("In each form and layout", arguments: ["float16", "int8", "palette:bits=4,group=4"], ["plain", "ane"])
        func product(codec: String, layout: String) async throws {
            var builder = ProgramBuilder(name: "model")
            let x = builder.input("x", TensorType(.float32, [1, 6, 32]))
            let numbers = (0..<32 * 32).map { (index: Int) -> Float in Float(index * 37 % 101 - 50) / 100 }
            let weight = builder.constant(
                StoredTensor(name: "w", floats: numbers, shape: [32, 32]), isWeight: true)
            builder.output("y", try builder.apply(Gelu(.erf), [try builder.apply(Linear(), [x, weight])]))
            let function = try builder.finish().freezing(ShapeBindings())
            let program = try Recipe(default: Codecs.codec(codec)).compressing([function], threads: 1)
            let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let path = "\(folder)/x.mlpackage"
            try Files.makeFolder(folder)
            let exporter = try CoreMLExporter(ExportOptionValues(words: ["target": "iOS18", "layout": layout]))
            _ = try exporter.export(ExportedModel(program: program, family: "x", provenance: []), to: path)
            let input = HostTensor((0..<192).map { Float($0 % 13 - 6) / 5 }, [1, 6, 32])
            var states: [String: HostTensor] = [:]
            let expected = try #require(try CoreMLPackage(at: path).run(inputs: ["x": input], states: &states)["y"])
            let planned = try await MLModel.compileModel(at: URL(filePath: path))
            defer { try? FileManager.default.removeItem(at: planned) }
            let model = try MLModel(contentsOf: planned)
            let given = try MLDictionaryFeatureProvider(dictionary: ["x": MLFeatureValue(multiArray: array(input))])
            let found = try #require(try await model.prediction(from: given).featureValue(for: "y")?.multiArrayValue)
            let scale = expected.floats.map(abs).max() ?? 1
            for (left, right) in zip(floats(found), expected.floats) { #expect(abs(left - right) <= scale * 0x1p-7) }
        }
    }
#endif
