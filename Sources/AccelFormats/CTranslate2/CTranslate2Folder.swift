import AccelByteIO
import AccelPackages
import AccelTensors

/// The files of an export: model.bin, config.json, the vocabulary, and the tokenizer's files.
struct CTranslate2Folder {
    let model: CTranslate2Model
    let values: CTranslate2Values
    /// The files that are copied, but for those that CTranslate2 has under the same names.
    let assets: [Asset]
    let provenance: [(key: String, text: String)]

    /// The list of the other files with their digests. Its last member is its own digest. CTranslate2 does not read it.
    static let index = ExportIndex(name: "accelc.json")
    static let vocabularyName = "vocabulary.json"
    private static let own: Set<String> = [
        CTranslate2File.fileName, CTranslate2Draft.configurationName, vocabularyName, index.name,
    ]

    /// Writes all files.
    /// - Parameter path: an empty or absent folder, which the caller publishes.
    func write(to path: String) throws -> ExportReport {
        try Files.makeFolder(path)
        let aliases = try CTranslate2Aliases(of: model.variables, as: values)
        let (weightBytes, digest) = try CTranslate2File.write(
            model, as: values, aliases: aliases, to: "\(path)/\(CTranslate2File.fileName)")
        var names = [CTranslate2File.fileName]
        func write(_ text: String, _ name: String) throws {
            try AtomicFile.write(text, to: "\(path)/\(name)", as: .internal)
            names.append(name)
        }
        let members = model.members.map { JSON.Member($0.key, $0.value) }
        try write(JSON.object(members).pythonText() + "\n", CTranslate2Draft.configurationName)
        try write(JSON.array(model.vocabulary.map { .string($0) }).pythonText(), Self.vocabularyName)
        names += try assets.write(to: path, besides: Self.own)
        let entries = provenance.map { JSON.Member($0.key, .string($0.text)) }
        try AtomicFile.write(
            WrittenDocument.text(
                of: [JSON.Member("metadata", .object(entries))], listing: names,
                digests: digest.map { [CTranslate2File.fileName: $0] } ?? [:], in: path),
            to: "\(path)/\(Self.index.name)", as: .internal)
        return report(weightBytes: weightBytes, aliases)
    }

    private func report(weightBytes: Int, _ aliases: CTranslate2Aliases) -> ExportReport {
        let stored = model.variables.filter { aliases.targets[$0.name] == nil && !$0.shape.dimensions.isEmpty }
        let count = stored.reduce(0) { $0 + $1.shape.count }
        let coded = stored.count { values.isQuantized($0) }
        let type = values.type.name == CTranslate2Type.stored.name ? "as stored" : values.type.name
        return ExportReport(
            bitsPerWeight: count == 0 ? 0 : Double(weightBytes * 8) / Double(count),
            lines: [
                "\(model.specification.name): \(type), \(coded) of \(stored.count) variables as integers, "
                    + "\(Wording.count(aliases.targets.count, "more name")) of equal variables"
            ],
            warnings: model.remarks,
            json: [
                "specification": .string(model.specification.name), "type": .string(values.type.name),
                "variables": .integer(Int64(stored.count)), "integers": .integer(Int64(coded)),
                "aliases": .integer(Int64(aliases.targets.count)), "parameters": .integer(Int64(count)),
            ])
    }
}

extension OutputKind {
    /// An unchanged CTranslate2 folder of accelc. Models of other converters are not replaced.
    static let ctranslate2Folder = OutputKind.folder("a CTranslate2 model") {
        try CTranslate2Folder.index.rejectionReason(for: $0)
    }
}
