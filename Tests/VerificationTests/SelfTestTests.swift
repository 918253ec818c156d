import AccelByteIO
import AccelPrograms
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Self test")
struct SelfTestTests {
    /// Every codec of the registry, with the options that change its sections.
    static let codecs: [String] = [
        "float32", "float16", "bfloat16", "palette:bits=4", "palette:bits=4,group=8", "palette:bits=3,group=16",
        "palette:bits=8", "palette:bits=6,scale=channel", "palette:bits=4,entries=float16", "palette:bits=2",
        "palette:bits=4,entries=int8", "palette:bits=6,group=8,entries=int8",
        "palette:bits=1",
        "int8", "int8:axis=tensor", "int8:mode=asymmetric", "int4", "int4:block=32", "int4:mode=asymmetric",
        "int4:fit=absmax", "affine:bits=4", "affine:bits=3,scales=float32", "nf4", "vector:bits=8,size=2",
        "vector:bits=4,size=4", "sparse:target=0.5+float16", "sparse:target=0.25+palette:bits=8",
        "sparse:pattern=2:4+int8", "sparse:threshold=0.02+int4", "outliers:share=0.02+int4",
        "outliers:share=0.02,values=float32+palette:bits=4",
        "fp4", "hqq:bits=4,group=16", "hqq:bits=3,axis=0", "flat:row=40+nf4:block=16", "permuted+int4",
        "permuted+affine:bits=3",
        "float8", "float8:type=e5m2,scale=block", "mxfp4", "mxfp8:type=e5m2", "nvfp4", "nvfp4:global=divisor",
        "nvfp4:global=none,fit=mlx",
        "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs",
        "iq3_s", "iq3_xxs", "iq2_s", "iq2_xs", "iq2_xxs", "tq1_0", "tq2_0",
        "int4:method=gptq", "int4:mode=asymmetric,method=gptq", "int8:method=gptq", "int4:method=weighted",
        "affine:bits=4,method=gptq", "affine:bits=3,block=16,method=gptq", "affine:bits=4,method=weighted",
        "nf4:method=gptq", "fp4:method=weighted", "mxfp4:method=gptq", "mxfp8:method=gptq", "nvfp4:method=gptq",
        "nvfp4:method=weighted", "iq4_nl:method=gptq", "q4_k:method=gptq", "q3_k:fit=mse,method=gptq",
        "q5_0:method=gptq",
        "int4:method=awq",
        "palette:bits=4,method=gptq", "palette:bits=3,group=16,method=gptq", "palette:bits=4,method=weighted",
    ].filter { name in Codecs.all.contains { $0.name == name.prefix { $0 != ":" && $0 != "+" } } }

    @Test(
        "Every fault that applies is caught by the stage that has to, and a right package raises no alarm",
        arguments: codecs)
    func detection(codec: String) throws {
        let model = try TinyModel()
        let report = try SelfTest(of: .planned(try model.planned(codec)), against: .reference([model.program])).run()
        #expect(report.failures.isEmpty, "\(report.terminal(width: 140))")
        #expect(report.exitStatus == .success)
        let applied = Set(report.trials.filter { $0.outcome == .caught }.map(\.fault))
        for fault in [
            "scale a channel", "rotate a row", "transpose a group", "drop a row", "flip a bit", "swap two weights",
            "stale weight", "rename a weight", "wrong weight", "wrong value", "lose an activation",
        ] {
            #expect(applied.contains(fault), "\(fault) did not apply to \(codec)")
        }
        // A sparse weight has fewer codes than weights, and a vector's are of several.
        if !codec.hasPrefix("sparse"), !codec.hasPrefix("vector") {
            let hasNibbles = ["int4", "nf4", "bits=4", "fp4"].contains { codec.contains($0) }
            #expect(applied.contains("swap nibbles") == hasNibbles)
        }
        #expect(applied.contains("shift a bias") == codec.contains("affine"))
        #expect(applied.contains("scale an outlier") == codec.hasPrefix("outliers"))
        #expect(applied.contains("move a weight") == (codec.hasPrefix("sparse") || codec.hasPrefix("outliers")))
        #expect(applied.contains("shift a zero point") == (codec.contains("asymmetric") || codec.hasPrefix("hqq")))
    }

    @Test("every codec of the registry is among those whose faults are tried")
    func registry() {
        let tried = Set(Self.codecs.map { $0.prefix { $0 != ":" && $0 != "+" } })
        #expect(Codecs.all.allSatisfy { tried.contains($0.name.prefix { _ in true }) || $0.name == "stored" })
    }

    @Test("A package that is wrong from the start is a false alarm, and the self test fails")
    func falseAlarm() throws {
        let (model, other) = (try TinyModel(), try TinyModel(seed: 9))
        let report = try SelfTest(of: .planned(try model.planned("float16")), against: .reference([other.program]))
            .run()
        #expect(report.failures.contains { $0.outcome == .falseAlarm })
        #expect(report.exitStatus == .exceeded)
    }

    @Test("The matrix is the same each time")
    func determinism() throws {
        let model = try TinyModel()
        func run(_ threads: Int) throws -> SelfTestReport {
            try SelfTest(of: .planned(try model.planned("bfloat16")), against: .reference([model.program]))
                .run(threads: threads)
        }
        #expect(try run(1).json == run(2).json)
    }
}
