import AccelByteIO
import AccelTensors

/// An open adapter (LoRA): what it changes, by the names of modules in the model that it was trained on.
struct Adapter: Sendable {
    /// The factors of one module.
    struct Module: Sendable {
        /// [rank, inputs], further axes of a kernel after these; of an embedding [rank, vocabulary].
        var down: StoredTensor?
        /// [outputs, rank], with axes of size 1 for those of a kernel.
        var up: StoredTensor?
        /// [outputs]: added to the bias, times the scale.
        var bias: StoredTensor?
        /// [outputs]: the lengths of the output channels.
        var lengths: StoredTensor?
        var isEmbedding = false
    }
    let request: AdapterRequest
    let files: AdapterFiles
    let configuration: AdapterConfiguration
    private(set) var modules: [String: Module] = [:]
    /// Whole tensors in place of the model's, by their names in the model.
    private(set) var replacements: [String: StoredTensor] = [:]
    /// The names of the replacements for weights that the adapter changes too.
    private(set) var baseLayers: Set<String> = []
    /// Biases that peft saves once more with `bias="all"`, by their names.
    private var copies: [(name: String, tensor: StoredTensor)] = []

    private static let prefix = "base_model.model."
    private static let baseLayer = ".base_layer."
    private static let (trained, original) = (".modules_to_save.", ".original_module.")
    private static var parts: [(ending: String, part: WritableKeyPath<Module, StoredTensor?>, isEmbedding: Bool?)] {
        [
            (".lora_A.weight", \.down, false), (".lora_B.weight", \.up, false), (".lora_B.bias", \.bias, false),
            (".lora_embedding_A", \.down, true), (".lora_embedding_B", \.up, true),
            (".lora_magnitude_vector", \.lengths, nil), (".lora_magnitude_vector.weight", \.lengths, nil),
        ]
    }

    /// Sorts the tensors of an adapter by the modules that they change.
    /// - Throws: `RequestError` for what cannot be merged; `FormatError` for a tensor that is unknown, incomplete or not
    ///   finite.
    init(_ request: AdapterRequest, _ files: AdapterFiles, configuration document: JSONField? = nil) throws {
        (self.request, self.files) = (request, files)
        configuration = try AdapterConfiguration(document ?? files.configuration)
        guard !files.tensors.isEmpty else {
            throw FormatError(file: "\(files.folder)/\(AdapterFiles.weightsName)", reason: "has no tensors")
        }
        for tensor in files.tensors {
            guard tensor.name.hasPrefix(Self.prefix) else {
                throw tensor.error("expected a name that starts with \(Self.prefix), as peft saves it")
            }
            guard tensor.elementType.isFloatingPoint else {
                throw tensor.error("expected floating-point numbers, found \(tensor.elementType.rawValue)")
            }
            if let index = tensor.firstNonFinite { throw tensor.error("is not finite", index: index) }
            try take(tensor, String(tensor.name.dropFirst(Self.prefix.count)))
        }
        for (name, tensor) in copies { try requireKnown(name, tensor) }
        for (name, module) in modules.sorted(by: { $0.key < $1.key }) { try check(module, name) }
    }

    private mutating func take(_ tensor: StoredTensor, _ name: String) throws {
        for (ending, part, isEmbedding) in Self.parts where name.hasSuffix(ending) {
            let name = String(name.dropLast(ending.count))
            var module = modules[name] ?? Module()
            guard module[keyPath: part] == nil else { throw tensor.error("the module has this tensor twice") }
            module[keyPath: part] = tensor
            if let isEmbedding {
                let other = part == \.down ? module.up : module.down
                guard other == nil || module.isEmbedding == isEmbedding else {
                    throw tensor.error("the module has tensors of an embedding and of another layer")
                }
                module.isEmbedding = isEmbedding
            }
            modules[name] = module
            return
        }
        if name.contains(".token_adapter.") {
            throw RequestError(
                "\(tensor.error("trained tokens (trainable_token_indices) are not supported"))", status: .unavailable)
        }
        if name.contains(Self.trained) || name.contains(Self.original) {
            copies.append((name, tensor))
            return
        }
        guard !name.contains("lora_") else { throw tensor.error("is no tensor of an adapter that is known") }
        let plain = name.replacing(Self.baseLayer, with: ".")
        guard replacements.updateValue(tensor, forKey: plain) == nil else {
            throw tensor.error("the adapter has two tensors \(quoted(plain))")
        }
        if name.contains(Self.baseLayer) { baseLayers.insert(plain) }
    }

    /// Rejects a further tensor of a whole module, unless it is a copy of the trained one, or the one before the training.
    private func requireKnown(_ name: String, _ tensor: StoredTensor) throws {
        let plain = name.replacing(/\.(modules_to_save\.[^.]+|original_module)\./, with: ".")
        guard let trained = replacements[plain], trained.shape == tensor.shape,
            name.contains(Self.original) || trained.floats() == tensor.floats()
        else { throw tensor.error("the adapter has no equal tensor \(quoted(plain)), which replaces the model's") }
    }

    private func check(_ module: Module, _ name: String) throws {
        guard let first = module.down ?? module.up ?? module.bias ?? module.lengths else { return }
        guard module.down != nil, module.up != nil else {
            throw first.error("the adapter has only a part of the factors of \(quoted(name))")
        }
        guard (module.lengths != nil) == configuration.hasLengths else {
            throw (module.lengths ?? first).error(
                configuration.hasLengths
                    ? "use_dora is set, but there is no lora_magnitude_vector" : "use_dora is not set")
        }
    }
}
