import AccelByteIO
import AccelModelFamilies
import AccelPackages
import AccelTensors

/// The configuration of a checkpoint's quantization: a member of config.json, and files of older tools beside it. Fields that
/// nobody read are rejected at the end, since they may change the weights.
struct QuantizationConfiguration: Sendable {
    /// The documents that state the quantization, the first one first; each records what is read.
    private let documents: [Document]
    let method: any QuantizationMethod.Type
    private let ignoredFields: [String]

    private struct Document: Sendable {
        /// The object with the fields.
        let field: JSONField
        /// The file's name in the folder.
        let name: String
        /// The root of the recorded reads: the object, or the whole file.
        let root: JSONField
    }

    /// The members of config.json.
    static let keys = ["quantization", "quantization_config", "compression_config"]
    /// Files of older tools, each with the member that has the configuration, and the method that it is of.
    private static let files: [(name: String, member: String, method: String)] = [
        ("hf_quant_config.json", "quantization", "modelopt"), ("quant_config.json", "", "awq"),
        ("quantize_config.json", "", "gptq"),
    ]

    /// Finds the configuration.
    /// - Throws: `RequestError` for a method that is not supported; `FormatError` for documents that contradict each other.
    init(of checkpoint: Checkpoint) throws {
        var (documents, usual) = ([Document](), String?.none)
        let configuration = checkpoint.configuration
        for field in [configuration, configuration["text_config"]] {
            for key in Self.keys where field[key].exists {
                let own = field[key].recording()
                documents.append(Document(field: own, name: "config.json", root: own))
                if documents.count == 1, key == Self.keys[2] { usual = "compressed-tensors" }
            }
        }
        for (name, member, method) in Self.files where Files.kind(of: "\(checkpoint.folder)/\(name)") == .file {
            guard let root = try checkpoint.document(name)?.recording() else { continue }
            documents.append(Document(field: member.isEmpty ? root : root[member], name: name, root: root))
            if documents.count == 1 { usual = method }
        }
        self.documents = documents
        ignoredFields = checkpoint.ignoredFields
        method = try Self.method(of: documents.first?.field, usual)
        try rejectDifferences()
    }

    private static func method(
        of field: JSONField?, _ usual: String?
    ) throws -> any QuantizationMethod.Type {
        guard let field else { return QuantizationMethods.unnamed }
        let key = field["quant_method"]
        // mlx-lm repeats its block, in a copy with the method of the model that it quantized.
        if usual == nil, field.path.hasSuffix(MLXQuantization.key) { return MLXMethod.self }
        guard let name = key.exists ? try key.string() : usual else { return QuantizationMethods.marked(field) }
        if let reason = QuantizedSchemes.rejected[name] {
            let error = key.error("\(name) \(reason), and is not supported")
            throw RequestError("\(error)", status: .unavailable, code: .unsupportedCheckpoint)
        }
        if let method = QuantizationMethods.named(name) { return method }
        let near = suggestion(for: name, among: QuantizationMethods.all.flatMap { $0.names })
        let error = key.error("the method \(quoted(name)) is not supported\(near)")
        throw RequestError("\(error)", status: .unavailable, code: .unsupportedCheckpoint)
    }

    /// Rejects documents that state different values.
    private func rejectDifferences() throws {
        guard let first = documents.first else { return }
        for other in documents.dropFirst() {
            guard case .object(let members)? = other.field.value else { continue }
            for member in members where member.value != .null {
                guard let own = first.field.value?[member.key], own != .null, !isInert(member.key),
                    !Self.areEqual(own, member.value)
                else { continue }
                throw other.field[member.key].error("differs from the field of \(first.name) that states it, too")
            }
        }
    }

    /// Returns whether values are equal; the case of texts is that of the tool.
    private static func areEqual(_ left: JSON, _ right: JSON) -> Bool {
        if case .string(let left) = left, case .string(let right) = right {
            return left.lowercased() == right.lowercased()
        }
        return left == right
    }

    private func isInert(_ key: String) -> Bool {
        (method.inertFields + .ofQuantization + .ofActivations).contains { $0.contains(key) }
    }

    /// The configuration is there.
    var exists: Bool { !documents.isEmpty }
    /// The first document.
    var field: JSONField { documents.first?.field ?? JSONField(nil, file: "config.json", path: Self.keys[1]) }

    /// A field of the first document that has it.
    subscript(key: String) -> JSONField {
        for document in documents.dropFirst() where !field[key].exists {
            let other = document.field[key]
            if other.exists { return other }
        }
        return field[key]
    }

    func statements(about layer: QuantizedLayer) throws -> [LayerStatement] {
        try method.statements(about: layer, self)
    }

    /// Rejects a layer of a scheme that is not one of the method's.
    func reject(_ layer: QuantizedLayer) throws {
        guard !method.schemes.contains(where: { $0.title == layer.scheme.title }) else { return }
        throw try layer.mark.error(
            "is a tensor of \(layer.scheme.title), and \(field["quant_method"].place) states "
                + (method.names.first.map(quoted) ?? "nothing"))
    }

    /// Rejects fields that nobody read and that are not listed as changing nothing.
    /// - Throws: `RequestError` (unavailable) for the first of them.
    func rejectUnread(_ checkpoint: Checkpoint) throws {
        let more = try method.check(self, checkpoint)
        _ = self["quant_method"]
        for document in documents {
            let lists = (method.inertFields + .ofQuantization + .ofActivations)
            let inert = document.field.path.isEmpty ? lists : lists.under(document.field.path)
            // A second document repeats fields of the first, which agree.
            if document.field.path != field.path || document.name != documents[0].name,
                case .object(let members)? = document.field.value
            {
                for member in members where field.value?[member.key] == member.value {
                    document.field.disregard(member.key)
                }
            }
            let root = document.root
            let place = document.name == "config.json" ? "" : "\(document.name):"
            try root.rejectUnread(inert + more + Self.producer) { place + $0 }
            let read = root.pathsRead
            if let field = ignoredFields.first(where: {
                $0.hasPrefix(place) && read.contains(String($0.dropFirst(place.count)))
            }) {
                throw RequestError(
                    "the field \(field) cannot be ignored: the weights depend on this field of \(document.name)")
            }
        }
    }

    /// The members beside that with the configuration, in files of ModelOpt.
    private static let producer = [InertFields("names the tool and its version", ["producer"])]

    var quantizesActivations: Bool { method.quantizesActivations(self) }
}
