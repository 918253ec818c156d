import AccelByteIO
public import AccelPackages
public import AccelTensors
public import AccelWeightCompression

/// A CTranslate2 model as a source: the programs of its family with decoded weights, under the names of checkpoints.
public struct CTranslate2Source: SingleModelSource {
    public let path: String
    public let files: ModelFiles
    public let remarks: [String]
    let configuration: JSONField
    let folder: String
    let encoded: [String: EncodedWeight]
    let plain: [StoredTensor]
    let names: Set<String>
    private let generation: JSON?
    private let tokens: [String]

    private static let generationName = "generation_config.json"

    /// Opens a model.
    /// - Parameters:
    ///   - file: the content of model.bin.
    ///   - path: the folder.
    /// - Throws: `RequestError` (functions-not-read) if no family of accelc computes what the model does; `FormatError` if variables or
    ///   other files contradict each other.
    init(_ file: CTranslate2File, of mapped: MappedFile, path: String) throws {
        let tensors = file.variables.filter { $0.shape.rank > 0 }.map { variable in
            StoredTensor(
                name: variable.name, elementType: variable.elementType, shape: variable.shape, bytes: variable.bytes,
                file: mapped.path)
        }
        files = ModelFiles(
            in: path,
            holding: [
                ModelFiles.Source(
                    name: CTranslate2File.fileName, path: mapped.path, role: .weights, identity: mapped.identity,
                    content: file.structure, tensors: tensors)
            ])
        try files.openAssets()
        let settings = try CTranslate2Settings(in: files)
        let reading = try CTranslate2Reading(file, file: mapped.path, settings)
        (self.path, folder, remarks, tokens) = (path, path, reading.remarks, settings.tokens)
        configuration = JSONField(reading.configuration, file: mapped.path)
        generation = reading.generation
        (encoded, plain) = (reading.reader.encoded, reading.reader.plain)
        names = Set(file.variables.map(\.name))
    }

    public var format: any ModelFormat.Type { CTranslate2Format.self }
    /// Files do not state how their codes were searched for.
    public var freeCodes: [String: any WeightCodec] { encoded.mapValues(\.codec) }
    public var deviations: [String] {
        encoded.isEmpty
            ? [] : ["CTranslate2 rounds the inputs of int8 layers to int8 by default; here they are not rounded"]
    }

    /// The files of the folder, with a checkpoint's configuration in place of CTranslate2's. The vocabulary stands in for a missing
    /// tokenizer, so that the model can be exported again.
    public var assets: [Asset] {
        func made(_ name: String, _ value: JSON) -> Asset {
            Asset(name: name, content: ByteView(Array(value.text(pretty: true).utf8)))
        }
        let configurationName = CTranslate2Draft.configurationName
        var assets = files.sources.filter { source in
            source.role == .asset && source.name != configurationName && !source.name.hasPrefix("vocabulary.")
        }.map { Asset(name: $0.name, content: $0.content) }
        let names = Set(assets.map(\.name))
        assets.append(made(configurationName, configuration.value ?? .null))
        if let generation, !names.contains(Self.generationName) {
            assets.append(made(Self.generationName, generation))
        }
        if !tokens.isEmpty, names.isDisjoint(with: ["tokenizer.json", "vocab.json", "vocab.txt"]) {
            assets.append(made(CTranslate2Folder.vocabularyName, .array(tokens.map { .string($0) })))
        }
        return assets.sorted { $0.name < $1.name }
    }
}
