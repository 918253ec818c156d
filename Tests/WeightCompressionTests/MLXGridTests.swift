import AccelByteIO
import AccelTensors
import TestSupport
import Testing

@testable import AccelWeightCompression

/// Codes, scales and biases of MLX, and what `affine` gives for the same weights.
@Suite("affine with fit=mlx stores what mx.quantize does")
struct MLXGridTests {
    private static let types = [("f32", ElementType.float32), ("f16", .float16), ("bf16", .bfloat16)]

    @Test("Codes, scales and biases have the bytes of mx.quantize", arguments: ["2", "3", "4", "5", "6", "8"])
    func bytes(bits: String) throws {
        let file = try SafetensorsFile(Fixtures.path("mlx_affine.safetensors"))
        func tensor(_ name: String) throws -> StoredTensor {
            try #require(file.tensors.first { $0.name == name }, "\(name)")
        }
        for (name, type) in Self.types {
            let source = try tensor("\(name).values")
            #expect(source.elementType == type && source.shape.rank == 2)
            for group in ["32", "64", "128"] {
                let codec = try Codecs.codec("affine:bits=\(bits),block=\(group),scales=weight,fit=mlx")
                let weight = try CompressedTensor.compressing(source, with: codec, threads: 1).tensor
                for (section, part) in ["codes", "scales", "biases"].enumerated() {
                    let expected = try tensor("\(name).\(bits).\(group).\(part)")
                    #expect(weight.sections[section] == expected.bytes, "\(name), \(bits) bits, \(group): \(part)")
                }
                #expect(weight.codec.violation(0..<source.shape.rows, of: weight, source: source) == nil)
            }
        }
    }

    @Test("fit=mse has no larger error than MLX's grid", arguments: ["2", "3", "4", "5", "6", "8"])
    func best(bits: String) throws {
        let file = try SafetensorsFile(Fixtures.path("mlx_affine.safetensors"))
        for (name, _) in Self.types {
            let source = try #require(file.tensors.first { $0.name == "\(name).values" })
            for group in ["32", "64", "128"] {
                let errors = try ["mse", "mlx"].map { fit in
                    let codec = try Codecs.codec("affine:bits=\(bits),block=\(group),scales=weight,fit=\(fit)")
                    return try CompressedTensor.compressing(source, with: codec, threads: 1).distortion.squaredError
                }
                #expect(errors[0] <= errors[1], "\(name), \(bits) bits, \(group): \(errors)")
            }
        }
    }

    @Test("Floating-point codes and scales have the bytes of mx.quantize", arguments: ["mxfp4", "mxfp8", "nvfp4"])
    func floats(mode: String) throws {
        let file = try SafetensorsFile(Fixtures.path("mlx_floats.safetensors"))
        func tensor(_ name: String) throws -> StoredTensor {
            try #require(file.tensors.first { $0.name == name }, "\(name)")
        }
        let codec = try Codecs.codec("\(mode):fit=mlx" + (mode == "nvfp4" ? ",global=none" : ""))
        for (name, type) in Self.types {
            let source = try tensor("\(name).values")
            #expect(source.elementType == type && source.shape.rank == 2)
            let weight = try CompressedTensor.compressing(source, with: codec, threads: 1).tensor
            #expect(weight.sections.count == 2)
            for (section, part) in ["codes", "scales"].enumerated() {
                let expected = try tensor("\(name).\(mode).\(part)")
                #expect(weight.sections[section] == expected.bytes, "\(name), \(mode): \(part)")
            }
            #expect(weight.codec.violation(0..<source.shape.rows, of: weight, source: source) == nil)
        }
    }

    @Test("The type of the scales follows the weight, which a package names beside the request")
    func types() throws {
        let codec = try Codecs.codec("affine:bits=4,block=64,scales=weight,fit=mlx")
        let file = try SafetensorsFile(Fixtures.path("mlx_affine.safetensors"))
        for (name, scales) in [("f32", "float32"), ("f16", "float16"), ("bf16", "bfloat16")] {
            let source = try #require(file.tensors.first { $0.name == "\(name).values" })
            let weight = try CompressedTensor.compressing(source, with: codec, threads: 1).tensor
            #expect(weight.codec.values["type"] == scales)
            #expect(weight.codec.values.request == codec.values.request)
            // Sections whose scales are of no known type are rejected.
            #expect(throws: FormatError.self) {
                try CompressedTensor(
                    name: "w", elementType: source.elementType, shape: source.shape, codec: codec,
                    sections: weight.sections)
            }
        }
    }

    @Test("A block whose range exceeds float32 has the grid of minmax, which is finite")
    func huge() throws {
        let source = StoredTensor(name: "w", floats: [-3e38, 3e38, 1e38, 0], shape: [1, 4])
        func sections(_ fit: String) throws -> [ByteView] {
            let codec = try Codecs.codec("affine:bits=4,scales=float32,fit=\(fit)")
            return try CompressedTensor.compressing(source, with: codec, threads: 1).tensor.sections
        }
        #expect(try sections("mlx") == sections("minmax"))
    }
}
