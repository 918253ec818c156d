import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelFormats

@Suite("Damage in Core ML packages")
struct CoreMLIntegrityTests {
    struct Sample {
        let model: [UInt8]
        let weights: [UInt8]

        func package() throws -> CoreMLPackage {
            try CoreMLPackage(model: ByteView(model), weights: ByteView(weights), path: "x.mlpackage")
        }
    }

    /// A linear layer with a state, as Core ML's constants of one form.
    static func sample(_ codec: String, target: CoreMLTarget = .iOS18) throws -> Sample {
        var builder = ProgramBuilder(name: "model")
        let numbers: [Float] = (0..<192).map { (index: Int) -> Float in Float(index * 37 % 101 - 50) / 40 }
        let weight = builder.constant(
            StoredTensor(name: "layer.weight", floats: numbers, shape: [16, 12]), isWeight: true)
        let offsets: [Float] = (0..<16).map { (index: Int) -> Float in Float(index) / 8 }
        let bias = builder.constant(
            StoredTensor(name: "layer.bias", floats: offsets, shape: [16]), isWeight: true)
        let x = builder.input("x", TensorType(.float32, [2, 12]))
        var y = try builder.apply(Linear(), [x, weight, bias])
        if target >= .iOS18 {
            let memory = builder.state("memory", TensorType(.float32, [2, 16]))
            y = try builder.apply(Add(), [y, memory])
            builder.update("memory", to: y)
        }
        builder.output("y", try builder.apply(Relu(), [y]))
        let functions = [try builder.finish().freezing(ShapeBindings())]
        let program = try Recipe(default: try Codecs.codec(codec)).compressing(functions, threads: 1)
        let draft = try CoreMLExporter(
            CoreMLOptions(target: target, floatType: .float16, layout: .plain, allowsFallback: false)
        ).draft(of: ExportedModel(program: program, family: "sample", provenance: [("accelc.version", "x")]))
        return try withTemporaryFolder { folder in
            try draft.weights.blobs.write(to: "\(folder)/weight.bin")
            let bytes = try MappedFile("\(folder)/weight.bin").bytes
            return Sample(model: draft.model.encoded, weights: bytes.withBytes { Array($0) })
        }
    }

    static let forms: [(codec: String, target: CoreMLTarget)] = [
        ("float16", .iOS18), ("int8:axis=channel", .iOS16), ("int8:axis=channel", .iOS18),
        ("int4:block=channel", .iOS18),
        ("palette:bits=4", .iOS16), ("palette:bits=3,group=4", .iOS18),
        ("palette:bits=4,group=4,scale=channel", .iOS18),
        ("vector:bits=4,size=2", .iOS18), ("sparse:target=0.5+float16", .iOS16),
        ("sparse:target=0.5+palette:bits=2", .iOS18),
    ]

    /// What a byte becomes: all of its bits are turned over, or one.
    private func changed(_ bytes: [UInt8], at index: Int) -> [UInt8] {
        var bytes = bytes
        let mask: UInt8 = index % 3 == 0 ? 0xFF : 1 << UInt8(index % 8)
        bytes[index] ^= mask
        return bytes
    }

    @Test(
        "A package as it was written passes, also with another description and its maps in another order",
        arguments: forms)
    func sound(codec: String, target: CoreMLTarget) throws {
        let package = try Self.sample(codec, target: target).package()
        #expect(try package.check())
        var model = package.model
        model.metadata.description = "my model"
        model.metadata.license = "MIT"
        model.metadata.other.append(MILNamed("org.example.note", "kept"))
        for index in model.program.functions[0].operations.indices {
            model.program.functions[0].operations[index].inputs.reverse()
            model.program.functions[0].operations[index].attributes.reverse()
        }
        #expect(try CoreMLPackage(path: "x", model: model, blobs: package.blobs).check())
    }

    @Test("Each byte of weight.bin that is another is noticed", arguments: forms)
    func weights(codec: String, target: CoreMLTarget) throws {
        let sample = try Self.sample(codec, target: target)
        for index in sample.weights.indices {
            #expect(throws: FormatError.self, "byte \(index) of \(sample.weights.count)") {
                let package = try Sample(model: sample.model, weights: changed(sample.weights, at: index)).package()
                try package.check()
            }
        }
        for count in [0, 1, 63, 64, 100, sample.weights.count - 1] {
            #expect(throws: FormatError.self) {
                try Sample(model: sample.model, weights: Array(sample.weights.prefix(count))).package().check()
            }
        }
        #expect(throws: FormatError.self) {
            try Sample(model: sample.model, weights: sample.weights + [0]).package().check()
        }
        #expect(throws: FormatError.self) {
            try CoreMLPackage(model: ByteView(sample.model), weights: nil, path: "x.mlpackage").check()
        }
    }

    @Test(
        "Each byte of model.mlmodel that is another is noticed, but for what says nothing of the function",
        arguments: [forms[1], forms[6]])
    func model(codec: String, target: CoreMLTarget) throws {
        let sample = try Self.sample(codec, target: target)
        let original = try sample.package()
        // Bytes of a description, and such that the model reads the same with another.
        var (free, equal) = (0, 0)
        for index in sample.model.indices {
            do {
                let package = try Sample(model: changed(sample.model, at: index), weights: sample.weights).package()
                guard try package.check() else {
                    // The metadata are lost: the manifest still tells.
                    try requireRejected(changed(sample.model, at: index), of: sample)
                    continue
                }
                #expect(package.model.digest == original.model.digest)
                // The description is a person's to change.
                if package.model.metadata != original.model.metadata { free += 1 } else { equal += 1 }
            } catch is FormatError {}
        }
        #expect(free > 0 && free < 60, "\(free) bytes of \(sample.model.count) may be others")
        #expect(equal == 0, "\(equal) bytes of \(sample.model.count) may be others, and the model reads the same")
    }

    /// As a folder, with the manifest of the model as it was written.
    private func requireRejected(_ model: [UInt8], of sample: Sample) throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/x.mlpackage"
            let blobs = BlobFile()
            try Files.makeFolder(path)
            try CoreMLPackageWriter.write(sample.model, blobs, to: path)
            func put(_ bytes: [UInt8], _ name: String) throws {
                var file = try AtomicFile(replacing: "\(path)/Data/com.apple.CoreML/\(name)", as: .internal)
                try file.write(ByteView(bytes))
                try file.commit()
            }
            try put(sample.weights, "weights/weight.bin")
            #expect(try CoreMLPackage(at: path).check())
            try put(model, "model.mlmodel")
            #expect(throws: FormatError.self) { try CoreMLPackage(at: path).check() }
        }
    }

    @Test("Without digests most damage passes: the law above can fail")
    func control() throws {
        let sample = try Self.sample("int8:axis=channel")
        var model = try sample.package().model
        model.metadata.other.removeAll { $0.name.hasPrefix("accelc.") }
        let bare = Sample(model: model.encoded, weights: sample.weights)
        #expect(try bare.package().check() == false)
        let passed = sample.weights.indices.count { index in
            let package = try? Sample(model: bare.model, weights: changed(sample.weights, at: index)).package()
            return (try? package?.check()) == false
        }
        #expect(passed > 200, "\(passed) of \(sample.weights.count)")
    }

    @Test("A part of the digests is an error: a damaged key does not make an unsealed package")
    func partial() throws {
        let sample = try Self.sample("float16")
        for key in [CoreMLSeal.modelKey, CoreMLSeal.weightsKey] {
            var model = try sample.package().model
            model.metadata.other.removeAll { $0.name == key }
            #expect(throws: FormatError.self) {
                try Sample(model: model.encoded, weights: sample.weights).package().check()
            }
        }
    }

    @Test(
        "Blob files of coremltools have the layout that is asked for",
        arguments: ["weights_iOS16", "weights_iOS18", "functions", "encoder", "checkpoint_right"])
    func others(name: String) throws {
        #expect(try CoreMLPackage(at: Fixtures.path("coreml/\(name).mlpackage")).check() == false)
    }

    @Test("What made a package is read back from it, and nothing else is taken for it")
    func choices() throws {
        for (codec, target) in Self.forms {
            let package = try Self.sample(codec, target: target).package()
            let exporter = try CoreMLExporter(of: package)
            #expect(exporter.choices.target == target && exporter.text.hasPrefix("coreml \(CoreMLExporter.version) "))
        }
        let package = try Self.sample("float16").package()
        for text in ["", "coreml", "coreml 4 target=iOS18", "onnx 5", "coreml 5 target=iOS19 layout=plain"] {
            var model = package.model
            model.metadata.other.removeAll { $0.name == CoreMLExporter.metadataKey }
            model.metadata.other.append(MILNamed(CoreMLExporter.metadataKey, text))
            let other = try CoreMLPackage(path: "x", model: model, blobs: package.blobs)
            #expect(throws: CoreMLExporter.Unknown.self) { try CoreMLExporter(of: other) }
        }
    }
}
