import AccelByteIO
import AccelModelFamilies
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

/// Layers that other tools quantized (scripts/fixtures_quantized.py), with the values that their libraries give them.
@Suite("Quantized checkpoints")
struct QuantizedSourceTests {
    /// The schemes of some weights: those that are not here have codes, too.
    private static let schemes = [
        "gptq.bits4": "int4:mode=asymmetric", "gptq.symmetric": "int4:mode=asymmetric",
        "gptq.whole": "int4:block=channel,mode=asymmetric",
        "gptq.wide": "int4:block=128,mode=asymmetric", "gptq.ordered": "permuted+int4:mode=asymmetric",
        "gptq.ordered3": "permuted+affine:bits=3,scales=float32",
        "gptq.ragged": "permuted+int4:block=64,mode=asymmetric",
        "bitsandbytes.nf4_across": "flat+nf4:block=64,scales=float32",
        "bitsandbytes.fp4_across_nested": "flat:row=3840+fp4:block=128,scales=float32",
        "bitsandbytes.nf4_half": "nf4:block=64,scales=float32",
        "bitsandbytes.fp4_wide": "fp4:block=128,scales=float32",
        "hqq.across_axis1": "hqq:bits=4,scales=float32", "hqq.across_axis0": "hqq:bits=4,axis=0,scales=float32",
        "hqq.across_axis1_bfloat16": "hqq:bits=4,scales=bfloat16",
        "gptq.bits3": "affine:bits=3,scales=float32",
        "awq.layer": "int4:mode=asymmetric", "bitsandbytes.nf4": "nf4:block=64,scales=float32",
        "bitsandbytes.nf4_nested": "nf4:block=64,scales=float32", "bitsandbytes.fp4": "fp4:scales=float32",
        "bitsandbytes.fp4_nested": "fp4:scales=float32", "bitsandbytes.int8": "int8",
        "packed.int8": "int8:mode=asymmetric", "float8.blocks": "float8:scale=block", "float8.rows": "float8",
        "float8.whole": "float8:scale=tensor", "float8.mx": "mxfp8", "float4.mx": "mxfp4",
        "float4.nv": "nvfp4:global=divisor", "float4.opt": "nvfp4", "quanto.layer": "int8",
        "torchao.groups": "hqq:bits=8,group=32,scales=float32", "torchao.float8": "float8",
        "hqq.bits4_axis0": "hqq:bits=4,axis=0,scales=float32", "hqq.bits1_axis0": "hqq:bits=1,axis=0,scales=float32",
        "hqq.bits4_axis1": "affine:bits=4,block=64,scales=float32",
        "blocks.int8_blocks": "hqq:bits=8,group=8,scales=float32", "blocks.int8_square": "int8:mode=asymmetric",
        "blocks.int8_wide_blocks": "affine:bits=8,scales=float32",
        "blocks.float8_rows": "float8", "blocks.float8_tall": "float8", "blocks.float8_blocks": "F32",
        "float8_blocks.layer": "F32", "torchao.scaled": "F32", "torchao.int8": "int8:mode=asymmetric",
        "packed.ordered": "permuted+int4:scales=float32",
    ]

    /// Opens a folder with the tensors of a fixture.
    private func opened<Result>(
        _ configuration: String, _ tensors: [StoredTensor], _ body: (any ModelSource) throws -> Result
    ) throws -> Result {
        try QuantizedFixture.opened(tensors, #"{"quantization_config": \#(configuration)}"#, body)
    }

    private func fixture(_ name: String) throws -> [StoredTensor] { try QuantizedFixture(name).layers }

    /// Weights that a library computes in another order than one rounding of the formula.
    private static let rounded = ["mlx.layer", "torchao.scaled"]

    @Test(
        "decode to the values of the library that made them, and keep its codes",
        arguments: QuantizedFixture.names)
    func values(name: String) throws {
        let fixture = try QuantizedFixture(name)
        try fixture.opened { source in
            let weights = try Dictionary(uniqueKeysWithValues: source.weights.map { ($0.name, $0) })
            #expect(Set(weights.keys) == Set(fixture.golden.map { String($0.name.dropFirst(7)) }))
            for wanted in fixture.golden {
                let weightName = String(wanted.name.dropFirst(7))
                let weight = try #require(weights[weightName])
                let values = try weight.values().floats()
                #expect(weight.shape == wanted.shape)
                let layer = weightName.replacing(".weight", with: "")
                let largest = wanted.floats().map(abs).max() ?? 0
                let slack = Self.rounded.contains("\(name).\(layer)") ? Float(1).ulp * largest : 0
                let different = zip(values, wanted.floats()).enumerated().first { abs($1.0 - $1.1) > slack }
                #expect(different == nil, "\(name), \(weightName): \(String(describing: different))")
                if let scheme = Self.schemes["\(name).\(layer)"] { #expect(weight.scheme == scheme, "\(layer)") }
            }
        }
    }

    @Test("zero points of a stated symmetric grid are compared when they are read")
    func symmetric() throws {
        let stated = #"{"quant_method": "gptq", "bits": 4, "sym": true, "desc_act": false, "group_size": 32}"#
        for (layer, accepted) in [("symmetric", true), ("bits4", false)] {
            let layers = try fixture("gptq").filter { $0.name.hasPrefix("\(layer).") }
            try opened(stated, layers) { source in
                let weight = try #require(try source.weights.first { $0.name == "\(layer).weight" })
                #expect(weight.scheme == "int4")
                if accepted {
                    _ = try weight.values()
                } else {
                    let error = #expect(throws: FormatError.self) { _ = try weight.values() }
                    #expect(error?.reason.contains("states a symmetric grid") == true)
                }
            }
        }
    }

    @Test("what is decoded to floats is named with its reason")
    func remarks() throws {
        // A table of which some numbers differ in the last place.
        let layers = try fixture("bitsandbytes").filter { $0.name.hasPrefix("fp4.") }.map { tensor in
            guard tensor.name.hasSuffix(".quant_map") else { return tensor }
            return StoredTensor(
                name: tensor.name, floats: tensor.floats().map { $0 * (1 + Float.ulpOfOne) }, shape: tensor.shape)
        }
        try opened(#"{"quant_method": "bitsandbytes"}"#, layers) { source in
            #expect(source.remarks.contains { $0.contains("no scheme has its table") && $0.contains("fp4.weight") })
        }
    }

    @Test("methods without a reader are rejected by name", arguments: QuantizedSchemes.rejected.keys.sorted())
    func rejected(method: String) throws {
        let error = #expect(throws: RequestError.self) {
            try opened(#"{"quant_method": "\#(method)"}"#, [StoredTensor(name: "a", floats: [1], shape: [1])]) { _ in }
        }
        #expect(error?.description.contains(method) ?? false)
        #expect(error?.diagnostic.code == .unsupportedCheckpoint)
    }

    @Test(
        "methods without a reader are rejected by their tensors, too",
        arguments: [
            ("x.Qidxs", "x.SU", "quip"), ("x.codes", "x.codebooks", "aqlm"), ("x.weight_scales", "x.weight", "eetq"),
        ])
    func rejectedByTensors(first: String, second: String, method: String) throws {
        let tensors = [first, second].map {
            StoredTensor(name: $0, elementType: .int8, shape: [1, 1], bytes: ByteView([1] as [UInt8]))
        }
        let error = #expect(throws: RequestError.self) { try opened("{}", tensors) { _ in } }
        #expect(error?.description.contains("\(first)\": is of \(method)") ?? false)
        // One of them alone says nothing.
        try opened("{}", Array(tensors.prefix(1))) { _ in }
    }

    @Test("hostile tensors are rejected by name", arguments: QuantizedFixture.names)
    func hostile(name: String) throws {
        let fixture = try QuantizedFixture(name)
        let layers = fixture.layers
        // Each tensor cut to its first row, stretched, of another type, or left out. An error has to name a tensor.
        for index in layers.indices {
            let tensor = layers[index]
            var others: [StoredTensor?] = [nil, StoredTensor(name: tensor.name, integers: [1, 2, 3], shape: [3])]
            others.append(StoredTensor(name: tensor.name, floats: [.nan], shape: [1, 1]))
            others.append(
                StoredTensor(name: tensor.name, elementType: .int32, shape: [1, 1], bytes: ByteView([Int32(-1)])))
            for other in others {
                var changed = layers
                changed.remove(at: index)
                if let other { changed.append(other) }
                do {
                    try fixture.opened(changed) { source in
                        for weight in try source.weights { _ = try weight.values() }
                    }
                } catch let error as FormatError {
                    #expect(!error.description.isEmpty)
                } catch let error as RequestError {
                    #expect(!error.description.isEmpty)
                }
            }
        }
    }

    @Test("a group out of range and zero points of another shape are rejected")
    func groups() throws {
        let layers = try fixture("gptq").filter { $0.name.hasPrefix("bits4.") }
        func rejection(_ part: String, _ other: StoredTensor) -> String? {
            let changed = layers.filter { $0.name != "bits4.\(part)" } + [other]
            do { try opened("{}", changed) { _ in } } catch { return "\(error)" }
            return nil
        }
        let far = StoredTensor(
            name: "bits4.g_idx", elementType: .int32, shape: [96], bytes: ByteView([Int32](repeating: 3, count: 96)))
        #expect(rejection("g_idx", far)?.contains("there are 3 groups") ?? false)
        let small = StoredTensor(
            name: "bits4.qzeros", elementType: .int32, shape: [2, 4], bytes: ByteView([Int32](repeating: 0, count: 8)))
        #expect(rejection("qzeros", small)?.contains("bits4.qzeros") ?? false)
    }

    @Test("all ones in the first version of GPTQ's zero points are rejected, or read as GPTQModel writes them")
    func ambiguousZeros() throws {
        let layers = try fixture("gptq").filter { $0.name.hasPrefix("bits4.") && $0.name != "bits4.qzeros" }
        // The zero points 8, 0, 5 of GPTQModel: 0x508 less 0x111 borrows from the next field.
        let words = [Int32](repeating: Int32(bitPattern: 0x8888_8508 &- 0x1111_1111), count: 12)
        let zeros = StoredTensor(name: "bits4.qzeros", elementType: .int32, shape: [3, 4], bytes: ByteView(words))
        #expect(throws: RequestError.self) {
            try opened("{}", layers + [zeros]) { source in
                for weight in try source.weights { _ = try weight.values() }
            }
        }
        try opened(#"{"meta": {"quantizer": ["gptqmodel:7.7.0"]}}"#, layers + [zeros]) { source in
            let schemes = try source.weights.map(\.scheme)
            #expect(schemes.contains("int4:mode=asymmetric"))
        }
    }
}
