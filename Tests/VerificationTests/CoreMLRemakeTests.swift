import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelFormats
@testable import AccelVerification

@Suite("Core ML packages whose digests fit their damage")
struct CoreMLRemakeTests {
    private static let codecs = [
        "float16", "int8:axis=channel", "int4:block=channel", "palette:bits=4,group=4",
        "sparse:target=0.5+palette:bits=2",
        "vector:bits=4,size=2",
    ]

    @Test("An export is what an export of the model is", arguments: codecs)
    func same(codec: String) throws {
        let program = try CoreMLSample.program()
        let (model, weights) = try CoreMLSample.exported(program, codec)
        let report = try CoreMLSample.report(try CoreMLSample.resealed(model, weights), program)
        #expect(
            report.structure?.differences == [] && report.structure?.remarks == [] && report.exitStatus == .success,
            "\(report.terminal())")
        #expect(report.outputs.contains { $0.name == "memory" && $0.stage == .graph })
    }

    @Test("Each bit of an element that is another is a difference, and named", arguments: codecs)
    func elements(codec: String) throws {
        let program = try CoreMLSample.program()
        let (model, weights) = try CoreMLSample.exported(program, codec)
        let entries = try BlobReader(ByteView(weights), file: "weight.bin").checkedEntries()
        var tried = 0
        for (_, entry) in entries {
            let bits = entry.elements * (entry.dataType.bits ?? 8)
            for bit in stride(from: 0, to: bits, by: 7) {
                var damaged = weights
                damaged[entry.start + bit / 8] ^= 1 << UInt8(bit % 8)
                let remake = try CoreMLRemake(
                    of: try CoreMLSample.resealed(model, damaged), from: [program], threads: 1)
                #expect(
                    remake.finding.differences.count == 1 && remake.finding.remarks == [],
                    "bit \(bit) of the entry at \(entry.start)")
                #expect(remake.finding.differences.first?.name.contains("weight") ?? false)
                tried += 1
            }
        }
        #expect(tried > 100)
    }

    @Test("Each field of the model that is another is a difference")
    func fields() throws {
        let program = try CoreMLSample.program()
        let (model, weights) = try CoreMLSample.exported(program, "int8:axis=channel")
        func requireFound(_ what: String, _ change: (inout CoreMLModel) -> Void) throws {
            var changed = model
            change(&changed)
            #expect(changed != model, "\(what) changes nothing")
            let remake = try CoreMLRemake(of: try CoreMLSample.resealed(changed, weights), from: [program], threads: 1)
            #expect(!remake.finding.differences.isEmpty, "\(what) passes")
        }
        try requireFound("a version") { $0.specificationVersion = 10 }
        try requireFound("outputs exchanged") { $0.interfaces[0].outputs.swapAt(0, 1) }
        try requireFound("an output dropped") { $0.interfaces[0].outputs.removeLast() }
        try requireFound("a state dropped") { $0.interfaces[0].states = [] }
        try requireFound("results exchanged") { $0.program.functions[0].outputs.swapAt(0, 1) }
        let operations = model.program.functions[0].operations
        for index in operations.indices {
            try requireFound("\(operations[index].type) dropped") {
                $0.program.functions[0].operations.remove(at: index)
            }
            for place in operations[index].attributes.indices where operations[index].attributes[place].name == "val" {
                try requireFound("value of \(operations[index].outputs[0].name)") { model in
                    let value = operations[index].attributes[place].content
                    let content: MILValue.Content =
                        switch value.content {
                        case .floats(let floats): .floats(floats.map { $0 + 1 })
                        case .integers(let integers): .integers(integers.map { $0 ^ 1 })
                        case .flags(let flags): .flags(flags.map { !$0 })
                        case .words(let words): .words(words.map { $0 + "x" })
                        case .bytes(let bytes): .bytes(bytes.map { $0 ^ 1 })
                        case .blob(let offset): .blob(offset: offset + 64)
                        default: value.content
                        }
                    model.program.functions[0].operations[index].attributes[place].content.content = content
                }
            }
            if case .name(let name)? = operations[index].inputs.first?.content.first {
                try requireFound("an input of \(operations[index].type)") { model in
                    model.program.functions[0].operations[index].inputs[0].content = [.name(name == "x" ? "y" : "x")]
                }
            }
        }
    }

    @Test("What the model does not determine is said, not passed over")
    func open() throws {
        let program = try CoreMLSample.program()
        var (model, weights) = try CoreMLSample.exported(program, "int4:block=channel,method=gptq")
        let calibrated = try CoreMLRemake(of: try CoreMLSample.resealed(model, weights), from: [program], threads: 1)
        #expect(calibrated.finding.differences == [] && calibrated.finding.remarks.count == 1)
        #expect(calibrated.finding.remarks.first?.contains("1 weight held") ?? false)
        model.metadata.other.removeAll { $0.name.hasPrefix("accelc.sha256.") || $0.name == "accelc.exporter" }
        let earlier = try CoreMLPackage(model: ByteView(model.encoded), weights: ByteView(weights), path: "x.mlpackage")
        let report = try CoreMLSample.report(earlier, program)
        #expect(report.exitStatus == .success && report.structure?.remarks.count == 2 && report.containerFiles == nil)
        // A row that is lost, with digests made anew.
        let sealed = try CoreMLSample.exported(program, "int4:block=channel,method=gptq")
        let entries = try BlobReader(ByteView(sealed.weights), file: "weight.bin").checkedEntries().map(\.entry)
        let codes = try #require(entries.first { $0.elements == 192 && $0.dataType.bits == 4 })
        let scales = try #require(entries.first { $0.elements == 16 && $0.start != codes.start })
        var damaged = sealed.weights
        for place in codes.start..<codes.start + 6 { damaged[place] = 0 }
        damaged.replaceSubrange(scales.start..<scales.start + 2, with: [0, 0x50])
        let lost = try CoreMLSample.report(try CoreMLSample.resealed(sealed.model, damaged), program)
        #expect(lost.failures.contains { $0.stage == .weights && $0.reason.hasPrefix("row 0: ") }, "\(lost.terminal())")
        let control = try CoreMLSample.report(try CoreMLSample.resealed(sealed.model, sealed.weights), program)
        #expect(control.exitStatus == .success && control.rowBounds.count == 1)
        // Another model than the one that the package says it was made of.
        var other = ProgramBuilder(name: "other")
        other.output("y", try other.apply(Relu(), [other.input("x", TensorType(.float32, [2, 12]))]))
        let plain = try CoreMLSample.exported(program, "float16")
        let mistaken = try CoreMLRemake(
            of: try CoreMLSample.resealed(plain.model, plain.weights), from: [try other.finish()], threads: 1)
        #expect(mistaken.finding.differences.map(\.reason) == ["it was made of model, and the model has no such part"])
    }
}
