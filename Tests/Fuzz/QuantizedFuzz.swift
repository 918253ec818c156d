import AccelByteIO
import AccelModelFamilies
import AccelTensors
import TestSupport

@testable import AccelFormats

extension FuzzTarget {
    /// A safetensors file of a quantized checkpoint, with its configuration in its metadata: what is read has as many finite
    /// numbers as its shape says.
    static let quantized = FuzzTarget(name: "quantized", seeds: Attack.quantized.map(\.bytes)) { bytes in
        let file = try SafetensorsFile(bytes, file: "fuzz")
        let document = JSONField(["quantization_config": try configuration(file)], file: "fuzz")
        let checkpoint = Checkpoint(folder: "nowhere", configuration: document, files: [file])
        guard let source = try QuantizedSource(checkpoint, path: "fuzz", isConfigured: false) else { return }
        for weight in source.weights {
            let values = try weight.values()
            precondition(values.bytes.count == values.shape.count * values.elementType.byteCount)
        }
    }

    /// An adapter with its configuration in its metadata, merged into a small model.
    static let adapter = FuzzTarget(name: "adapter", seeds: Attack.adapters.map(\.bytes)) { bytes in
        let file = try SafetensorsFile(bytes, file: "fuzz")
        let files = AdapterFiles(
            folder: "nowhere", configuration: JSONField(try configuration(file), file: "fuzz"), tensors: file.tensors)
        let base = Checkpoint(
            folder: "nowhere", configuration: JSONField([:], file: "fuzz"),
            files: [try SafetensorsFile(ByteView(Attack.adaptedModel), file: "fuzz")])
        let model = try AdaptedModel(HuggingFaceModel(base, path: "fuzz"), [Adapter(AdapterRequest("nowhere"), files)])
        for weight in try model.weights {
            let values = try weight.values()
            precondition(values.shape == weight.shape && values.firstNonFinite == nil)
        }
    }

    private static func configuration(_ file: SafetensorsFile) throws -> JSON {
        let text = file.metadata.first { $0.key == "config" }?.value ?? "{}"
        return try JSON.parse(ByteView(Array(text.utf8)), file: "fuzz", limits: JSON.Limits(bytes: 1 << 16))
    }
}
