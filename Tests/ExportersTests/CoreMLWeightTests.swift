import AccelTensors
import TestSupport
import Testing

@testable import AccelFormats

@Suite("Weights of Core ML packages")
struct CoreMLWeightTests {
    @Test(
        "Every stored form becomes the bits that coremltools makes of it",
        arguments: ["weights_iOS16", "weights_iOS18", "functions"])
    func decompressed(name: String) throws {
        let package = try CoreMLReadingTests.package(name)
        let weights = try package.weights
        let golden = try SafetensorsFile(Fixtures.path("coreml/\(name).safetensors"))
        let expected = golden.tensors.filter { $0.name.hasPrefix("weight.") }
        #expect(expected.count >= 1)
        for tensor in expected {
            let weight = try #require(weights.first { "weight.\($0.name)" == tensor.name }, "\(tensor.name)")
            let found = try package.tensor(of: weight)
            #expect(found.shape == tensor.shape)
            #expect(found.floats().map(\.bitPattern) == tensor.floats().map(\.bitPattern), "\(weight)")
        }
    }

    @Test("Each weight's form and bits are told")
    func forms() throws {
        let old = try CoreMLReadingTests.package("weights_iOS16").weights
        let new = try CoreMLReadingTests.package("weights_iOS18").weights
        let lines = (old + new).filter { $0.name.hasPrefix("w_") }.map { weight in
            "\(weight.name) \((weight.bitsPerWeight * 100).rounded() / 100): \(weight.form)"
        }
        #expect(
            lines.sorted() == [
                "w_affine_asym_quantized 8.69: affine, uint8, 24 fp16 scales",
                "w_affine_quantized 8.69: affine, int8, 24 fp16 scales",
                "w_affine_tensor_quantized 8.03: affine, int8, 1 fp16 scale",
                "w_block4_asym_quantized 6.5: affine, uint4, 120 fp16 scales",
                "w_block4_quantized 6.0: affine, int4, 120 fp16 scales",
                "w_block8_quantized 11.0: affine, int8, 120 fp16 scales",
                "w_lut8_palettized 4.42: palette, 4 bits, 3 tables of (affine, int8, 1 fp16 scale)",
                "w_pal1_palettized 1.04: palette, 1 bits, 1 table",
                "w_pal2_palettized 2.08: palette, 2 bits, 1 table",
                "w_pal3_group_palettized 3.4: palette, 3 bits, 3 tables",
                "w_pal4_palettized 4.3: palette, 4 bits, 1 table",
                "w_pal6_palettized 7.22: palette, 6 bits, 1 table",
                "w_pal8_palettized 12.88: palette, 8 bits, 1 table",
                "w_plain 16.0: fp16",
                "w_plain 16.0: fp16",
                "w_scaled_palettized_pcs 15.33: palette, 4 bits, 40 tables of (affine, fp16, 40 fp16 scales)",
                "w_sparse_int8_sparsified 5.6: sparse of (affine, int8, 24 fp16 scales)",
                "w_sparse_pal_sparsified 1.87: sparse of (palette, 2 bits, 1 table)",
                "w_sparse_sparsified 7.4: sparse",
                "w_sparse_sparsified 7.4: sparse",
                "w_vector_in_palettized 1.03: palette, 2 bits, 2 tables of vectors of 4",
                "w_vector_palettized 2.53: palette, 4 bits, 1 table of vectors of 2",
            ])
        #expect(
            (old + new).filter { $0.name.hasPrefix("w_") && !$0.isCompressed }.map(\.name) == ["w_plain", "w_plain"])
        // One copy of weight and bias, whichever function reads them.
        #expect(try CoreMLReadingTests.package("functions").weights.map(\.name) == ["w", "linear_0_bias_0"])
    }

    @Test("Constants of one tensor that read the same bytes are one weight; those of another tensor are another")
    func repeated() throws {
        let package = try CoreMLReadingTests.package("weights_iOS18")
        var model = package.model
        let function = model.program.functions[0]
        let plain = try #require(function.operations.first { $0.outputs.first?.name == "w_plain" })
        for name in ["other", "w_plain_2", "held"] {
            var constant = plain
            constant.outputs[0].name = name
            model.program.functions[0].operations.append(constant)
        }
        let key = CoreMLModel.rowsKey(of: "held", in: function.name)
        model.metadata.other.append(MILNamed(key, "0 24 w.plain"))
        let before = try package.weights
        let all = try CoreMLPackage(path: "x", model: model, blobs: package.blobs).weights
        #expect(all.suffix(3).map(\.repeats) == [nil, "w_plain", "w_plain"])
        #expect(all.withoutRepeated.map(\.name) == before.map(\.name) + ["other"])
    }
}
