import AccelByteIO
import AccelModelFamilies
import AccelTensors
import TestSupport
import Testing

@testable import AccelFormats

@Suite("Hostile quantized checkpoints and adapters")
struct HostileTensorTests {
    private static func configuration(_ file: SafetensorsFile) throws -> JSON {
        let text = file.metadata.first { $0.key == "config" }?.value ?? "{}"
        return try JSON.parse(ByteView(Array(text.utf8)), file: file.path)
    }

    private func isFinite(_ weight: SourceWeight) throws -> Bool { try weight.values().firstNonFinite == nil }

    @Test("Each quantized layer has its verdict", arguments: Attack.quantized)
    func quantized(_ attack: Attack) {
        let flaw = attack.flaw { bytes, name in
            let file = try SafetensorsFile(bytes, file: name)
            let document = JSONField(["quantization_config": try Self.configuration(file)], file: name)
            let checkpoint = Checkpoint(folder: "nowhere", configuration: document, files: [file])
            let source = try #require(try QuantizedSource(checkpoint, path: name, isConfigured: false))
            let weights = source.weights
            #expect(!weights.isEmpty)
            for weight in weights { #expect(try isFinite(weight)) }
        }
        #expect(flaw == nil)
    }

    @Test("Each adapter has its verdict", arguments: Attack.adapters)
    func adapters(_ attack: Attack) {
        let flaw = attack.flaw { bytes, name in
            let file = try SafetensorsFile(bytes, file: name)
            let files = AdapterFiles(
                folder: "nowhere", configuration: JSONField(try Self.configuration(file), file: name),
                tensors: file.tensors)
            let base = Checkpoint(
                folder: "nowhere", configuration: JSONField([:], file: name),
                files: [try SafetensorsFile(ByteView(Attack.adaptedModel), file: name)])
            let model = try AdaptedModel(
                HuggingFaceModel(base, path: name), [Adapter(AdapterRequest("nowhere"), files)])
            for weight in try model.weights { #expect(try isFinite(weight)) }
        }
        #expect(flaw == nil)
    }

    @Test("An adapter without tensors is refused")
    func empty() throws {
        let files = AdapterFiles(
            folder: "nowhere", configuration: JSONField(["peft_type": "LORA", "r": 2, "lora_alpha": 4], file: "a"),
            tensors: [])
        #expect(throws: FormatError.self) { try Adapter(AdapterRequest("nowhere"), files) }
    }
}
