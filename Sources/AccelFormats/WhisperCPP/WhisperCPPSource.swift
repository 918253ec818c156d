import AccelByteIO
import AccelPackages
public import AccelTensors
public import AccelWeightCompression

/// A file of whisper.cpp as a source: the programs of Whisper with decoded weights, under the names of checkpoints.
public struct WhisperCPPSource: SingleModelSource {
    public let path: String
    public let files: ModelFiles
    let configuration: JSONField
    let folder: String
    let encoded: [String: EncodedWeight]
    let plain: [StoredTensor]
    let names: Set<String>
    /// Files do not say how their codes were searched for.
    public var freeCodes: [String: any WeightCodec] { encoded.mapValues(\.codec) }

    /// - Throws: `FormatError` if the file is corrupt, or lacks a tensor; `RequestError` if it cannot be read.
    init(_ path: String) throws {
        guard let name = WhisperCPPFormat.file(of: path) else {
            throw RequestError("\(path) has no \(WhisperCPPExporter.fileName)")
        }
        let mapped = try MappedFile(name)
        let file = try WhisperFile(parsing: mapped.bytes, file: name)
        self.path = path
        folder = Files.kind(of: path) == .folder ? path : Files.parentFolder(of: path) ?? "."
        configuration = JSONField(Self.configuration(file), file: name)
        names = Set(file.tensors.map(\.name))
        (encoded, plain) = try Self.weights(file, name)
        files = ModelFiles(
            in: folder,
            holding: [
                ModelFiles.Source(
                    name: Files.name(of: name), path: name, role: .weights, identity: mapped.identity,
                    content: ByteView(file.start),
                    tensors: file.tensors.map { tensor in
                        StoredTensor(
                            name: tensor.name, elementType: .uint8, shape: [tensor.bytes.count], bytes: tensor.bytes,
                            file: name)
                    })
            ])
    }

    private static func weights(
        _ file: WhisperFile, _ path: String
    ) throws -> (encoded: [String: EncodedWeight], plain: [StoredTensor]) {
        let known = WhisperNames.all(audioLayers: file.sizes.audio.layers, textLayers: file.sizes.text.layers)
        let own = Dictionary(known.map { ($0.file, "model.\($0.own)") }) { first, _ in first }
        func rejected(_ name: String, _ reason: String) -> FormatError {
            FormatError(file: path, location: .tensor(name, index: nil), reason: reason)
        }
        if let missing = Set(own.keys).subtracting(file.tensors.map(\.name)).min() {
            throw rejected(missing, "expected a tensor of this name")
        }
        var (encoded, plain) = ([String: EncodedWeight](), [StoredTensor]())
        for tensor in file.tensors {
            guard let name = own[tensor.name] else {
                throw rejected(tensor.name, "a model of these sizes has no such tensor")
            }
            var shape = tensor.shape
            if WhisperNames.fileShape(of: name, [1]).rank == 2, shape.dimensions.last == 1 {
                shape = Shape(shape.dimensions.dropLast())
            }
            let isMatrix = WhisperNames.role(of: name, shape) == .matrix
            switch tensor.type.storage {
            case .plain(let type) where type == .float32 || type == .float16:
                plain.append(
                    StoredTensor(name: name, elementType: type, shape: shape, bytes: tensor.bytes, file: path))
            case .codec(let codec) where isMatrix && tensor.type == file.type:
                encoded[name] = try EncodedWeight(
                    name: name, elementType: .float32, shape: shape, codec: try Codecs.codec(codec), file: path
                ) { tensor.type.sections(of: tensor.bytes) }
            default: throw rejected(tensor.name, "the type \(tensor.type.name) is not that of the file")
            }
        }
        return (encoded, plain)
    }

    /// The config.json that stands for a file's sizes.
    private static func configuration(_ file: WhisperFile) -> JSON {
        func number(_ value: Int) -> JSON { .integer(Int64(value)) }
        let sizes = file.sizes
        var members: [JSON.Member] = [
            JSON.Member("model_type", "whisper"), JSON.Member("architectures", ["WhisperForConditionalGeneration"]),
            JSON.Member("activation_function", "gelu"), JSON.Member("tie_word_embeddings", true),
            JSON.Member("vocab_size", number(sizes.vocabulary)), JSON.Member("d_model", number(sizes.audio.width)),
            JSON.Member("num_mel_bins", number(sizes.mels)),
            JSON.Member("max_source_positions", number(sizes.audio.positions)),
            JSON.Member("max_target_positions", number(sizes.text.positions)),
        ]
        for (name, stack) in [("encoder", sizes.audio), ("decoder", sizes.text)] {
            members += [
                JSON.Member("\(name)_layers", number(stack.layers)),
                JSON.Member("\(name)_attention_heads", number(stack.heads)),
                JSON.Member("\(name)_ffn_dim", number(4 * stack.width)),
            ]
        }
        return .object(members)
    }

    public var format: any ModelFormat.Type { WhisperCPPFormat.self }
    public var deviations: [String] {
        ["whisper.cpp computes gelu by its approximation with tanh; here it is computed exactly, as the model does"]
    }
    public var remarks: [String] { ["the words of the file are not taken over: a package of it has no tokenizer"] }
}
