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

    private static func readQuantized(_ bytes: ByteView, _ name: String) throws {
        let file = try SafetensorsFile(bytes, file: name)
        let document = JSONField(["quantization_config": try configuration(file)], file: name)
        let checkpoint = Checkpoint(folder: "nowhere", configuration: document, files: [file])
        for weight in try QuantizedSource(checkpoint, path: name, isConfigured: false)?.weights ?? [] {
            guard try weight.values().firstNonFinite == nil else {
                throw FormatError(file: name, location: nil, reason: "\(weight.name) is not finite")
            }
        }
    }

    private static func readAdapter(_ bytes: ByteView, _ name: String) throws {
        let file = try SafetensorsFile(bytes, file: name)
        let files = AdapterFiles(
            folder: "nowhere", configuration: JSONField(try configuration(file), file: name), tensors: file.tensors)
        let base = Checkpoint(
            folder: "nowhere", configuration: JSONField([:], file: name),
            files: [try SafetensorsFile(ByteView(Attack.adaptedModel), file: name)])
        let model = try AdaptedModel(
            HuggingFaceModel(base, path: name), [Adapter(AdapterRequest("nowhere"), files)])
        for weight in try model.weights {
            guard try weight.values().firstNonFinite == nil else {
                throw FormatError(file: name, location: nil, reason: "\(weight.name) is not finite")
            }
        }
    }

    @Test("Each quantized layer has its verdict", arguments: Attack.quantized)
    func quantized(_ attack: Attack) { #expect(attack.flaw(Self.readQuantized) == nil) }

    @Test("Each adapter has its verdict", arguments: Attack.adapters)
    func adapters(_ attack: Attack) { #expect(attack.flaw(Self.readAdapter) == nil) }

    @Test("Changed bytes are rejected or read, and never end the program")
    func mutations() throws {
        var generator = SeededGenerator(seed: 3)
        var rejected = 0
        let seeds = Attack.quantized.map { ($0, Self.readQuantized) } + Attack.adapters.map { ($0, Self.readAdapter) }
        for (attack, read) in seeds {
            for _ in 0..<40 {
                var bytes = attack.bytes
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    bytes[Int.random(in: 8..<bytes.count, using: &generator)] = UInt8.random(
                        in: 0...255, using: &generator)
                }
                do {
                    try read(ByteView(bytes), "changed.bin")
                } catch let error as FormatError {
                    #expect(!error.reason.isEmpty)
                    rejected += 1
                } catch let error as RequestError {
                    #expect(!error.description.isEmpty)
                    rejected += 1
                }
            }
        }
        #expect(rejected > 500)
    }

    @Test("An adapter without tensors is rejected")
    func empty() throws {
        let files = AdapterFiles(
            folder: "nowhere", configuration: JSONField(["peft_type": "LORA", "r": 2, "lora_alpha": 4], file: "a"),
            tensors: [])
        #expect(throws: FormatError.self) { try Adapter(AdapterRequest("nowhere"), files) }
    }
}
