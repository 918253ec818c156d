import AccelByteIO
import AccelModelFamilies
import AccelTensors
import TestSupport
import Testing

@Suite("Checkpoints that are quantized already")
struct QuantizedCheckpointTests {
    private static let weight = "encoder.layer.0.attention.self.query.weight"

    /// A checkpoint whose tensor `weight` is replaced.
    private func checkpoint(replacing weight: String, by tensors: [StoredTensor]) throws -> ChangedCheckpoint {
        var checkpoint = try ChangedCheckpoint("bert_base")
        let count = checkpoint.tensors.count
        checkpoint.tensors.removeAll { $0.name == weight }
        #expect(checkpoint.tensors.count == count - 1)
        checkpoint.tensors = (checkpoint.tensors + tensors).sorted { $0.name < $1.name }
        return checkpoint
    }

    private func bytes(_ name: String, _ type: ElementType, _ shape: Shape) -> StoredTensor {
        StoredTensor(
            name: name, elementType: type, shape: shape,
            bytes: ByteView([UInt8](repeating: 0x31, count: shape.count * type.byteCount)))
    }

    @Test("FP8 weights are read where no scale exists anywhere, and rejected beside one")
    func float8() throws {
        let plain = bytes(Self.weight, .float8e4m3, [36, 36])
        let model = try checkpoint(replacing: Self.weight, by: [plain]).model()
        #expect(model.remarks.contains { $0.hasPrefix("1 weight is of type F8_E4M3 without a scale") })
        let scale = StoredTensor(name: Self.weight + "_scale", floats: [0.25], shape: [])
        let rejection = try #require(try checkpoint(replacing: Self.weight, by: [plain, scale]).rejection())
        #expect(rejection.contains("query.weight_scale\"") && rejection.contains("FP8"))
    }

    @Test("weights that are missing, of another shape or of integers are rejected by their kind, not as missing")
    func replaced() throws {
        let module = String(Self.weight.dropLast(".weight".count))
        let cases: [(String, [StoredTensor])] = [
            ("GPTQ", [bytes("\(module).qweight", .int32, [5, 36]), bytes("\(module).g_idx", .int32, [36])]),
            ("bitsandbytes", [bytes(Self.weight, .uint8, [648, 1]), bytes(Self.weight + ".absmax", .float32, [21])]),
            ("bitsandbytes", [bytes(Self.weight, .int8, [36, 36]), bytes("\(module).SCB", .float32, [36])]),
            ("compressed-tensors", [bytes("\(module).weight_packed", .int32, [36, 5])]),
            ("MLX", [bytes(Self.weight, .uint32, [36, 5]), bytes("\(module).scales", .float16, [36, 1])]),
        ]
        for (kind, tensors) in cases {
            let rejection = try #require(try checkpoint(replacing: Self.weight, by: tensors).rejection())
            #expect(rejection.contains(kind), "\(rejection)")
        }
        // Integers alone are no weights, and a missing tensor is missing.
        let alone = try checkpoint(replacing: Self.weight, by: [bytes(Self.weight, .int8, [36, 36])]).rejection()
        #expect(alone?.contains("expected floating-point numbers, found I8") == true)
        let missing = try checkpoint(replacing: Self.weight, by: []).rejection()
        #expect(missing?.contains("the checkpoint has no such tensor") == true)
    }

    @Test(
        "a configuration that says so is rejected, also within",
        arguments: ["quantization_config", "compression_config", "quantization"])
    func configurations(_ field: String) throws {
        var checkpoint = try ChangedCheckpoint("bert_base")
        checkpoint.set(field, ["bits": 4])
        #expect(try #require(checkpoint.rejection()).contains("field \(field): a checkpoint that is quantized already"))
        checkpoint.set(field, .null)
        #expect(checkpoint.rejection() == nil)

        var towers = try ChangedCheckpoint("clip_end")
        let text = try #require(towers.configuration.first { $0.key == "text_config" })
        guard case .object(let members) = text.value else { return }
        towers.set("text_config", .object(members + [.init(field, ["quant_method": "fp8"])]))
        #expect(try #require(towers.rejection()).contains("text_config.\(field)"))
    }

    @Test(
        "a file beside the weights that says so is rejected by its name",
        arguments: [
            "hf_quant_config.json", "quantize_config.json", "quant_config.json", "quanto_qmap.json",
            "adapter_config.json",
        ])
    func sideFiles(_ name: String) throws {
        var checkpoint = try ChangedCheckpoint("bert_base")
        checkpoint.files[name] = "{}"
        #expect(try #require(checkpoint.rejection()).contains(name))
    }
}
