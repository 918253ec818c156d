import AccelByteIO
import AccelModelFamilies
import AccelTensors

/// A method of `quantization_config`: what its fields state. A method is a file in `Methods/` and a line in `QuantizationMethods`.
/// Every field is read by the method or by its schemes, listed as changing nothing, or rejected.
protocol QuantizationMethod: Sendable {
    /// The values of `quant_method`.
    static var names: [String] { get }
    /// A field that only this method has, for configurations without `quant_method`.
    static var marks: [String] { get }
    /// The schemes of its layers.
    static var schemes: [any QuantizedScheme.Type] { get }
    /// The fields that change no weight, with the reason.
    static var inertFields: [InertFields] { get }
    /// Reads what holds for all layers.
    /// - Returns: more fields that change no weight, in objects of any name.
    /// - Throws: `RequestError` for what is not supported; `FormatError`.
    static func check(
        _ configuration: QuantizationConfiguration, _ checkpoint: Checkpoint
    ) throws -> [InertFields]
    /// Returns what is stated about a layer: several where the configuration does not tell which of them is meant.
    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement]
    /// Returns whether the model's own runtime rounds activations.
    static func quantizesActivations(_ configuration: QuantizationConfiguration) -> Bool
}

extension QuantizationMethod {
    static var marks: [String] { [] }
    static func check(
        _ configuration: QuantizationConfiguration, _ checkpoint: Checkpoint
    ) throws -> [InertFields] { [] }
    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement] { [] }
    static func quantizesActivations(_ configuration: QuantizationConfiguration) -> Bool { false }
}

/// The registry of methods.
enum QuantizationMethods {
    static let all: [any QuantizationMethod.Type] = [
        CompressedTensorsMethod.self, FP8Method.self, FBGEMMMethod.self, ModelOptMethod.self, MXFP4Method.self,
        TorchAOMethod.self, QuantoMethod.self, HQQMethod.self, BitsAndBytesMethod.self, AWQMethod.self,
        AutoRoundMethod.self, GPTQMethod.self, MLXMethod.self,
    ]
    /// The method of a configuration that states nothing.
    static let unnamed: any QuantizationMethod.Type = UnnamedMethod.self

    /// Returns the method of a name.
    static func named(_ name: String) -> (any QuantizationMethod.Type)? {
        for method in all where method.names.contains(name) { return method }
        return nil
    }

    /// Returns the method by the fields that only it has. A look at the value alone does not count as reading.
    static func marked(_ field: JSONField) -> any QuantizationMethod.Type {
        for method in all {
            for mark in method.marks where field.value?[mark] != nil { return method }
        }
        return unnamed
    }
}

/// A configuration without a method: nothing is stated.
enum UnnamedMethod: QuantizationMethod {
    static let names: [String] = []
    static let schemes = QuantizedSchemes.all
    static let inertFields: [InertFields] = []
}

extension [InertFields] {
    /// Fields of any method that change no weight.
    static let ofQuantization = [
        InertFields(
            "names the tool and its version", ["version", "producer", "autoround_version", "quantization_type"]),
        InertFields(
            "names layers that are not quantized, which the tensors show",
            [
                "modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules", "skip_modules",
                "llm_int8_skip_modules", "modules_to_convert", "lm_head",
            ]),
        InertFields(
            "selects how the framework computes the same",
            ["dequantize", "run_compressed", "use_optimized_inference", "backend"]),
    ]
    /// Fields of a runtime that rounds activations.
    static let ofActivations = [
        InertFields(
            "activations are not quantized here",
            [
                "activation_scheme", "activation_scale_ub", "input_activations", "output_activations", "activations",
                "act_quant_kwargs", "activation_quantization",
            ]),
        InertFields(
            "keys and values of caches are not quantized here",
            ["kv_cache_scheme", "kv_cache_quant_algo"]),
    ]
}
