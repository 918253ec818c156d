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
    static let indexName = "accelc.json"
    static let vocabularyName = "vocabulary.json"
    private static let own: Set<String> = [
        CTranslate2File.fileName, CTranslate2Draft.configurationName, vocabularyName, indexName,
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
        for asset in assets where !Self.own.contains(asset.name) {
            if let folder = Files.parentFolder(of: asset.name) { try Files.makeFolder("\(path)/\(folder)") }
            try AtomicFile.write(asset.content, to: "\(path)/\(asset.name)", as: .internal)
            names.append(asset.name)
        }
        let entries = provenance.map { JSON.Member($0.key, .string($0.text)) }
        try AtomicFile.write(
            WrittenDocument.text(
                of: [JSON.Member("metadata", .object(entries))], listing: names,
                digests: digest.map { [CTranslate2File.fileName: $0] } ?? [:], in: path),
            to: "\(path)/\(Self.indexName)", as: .internal)
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

    /// The entries of an index about the origin of the export.
    static func provenance(in index: JSONField) -> [String: String] {
        guard case .object(let members)? = index["metadata"].value else { return [:] }
        let texts = members.compactMap { member -> (String, String)? in
            if case .string(let text) = member.value { (member.key, text) } else { nil }
        }
        return Dictionary(texts) { first, _ in first }
    }

    /// Returns why a folder is not an unchanged output of `write`; nil if it is.
    fileprivate static func refusalReason(for path: String) throws -> String? {
        let index = "\(path)/\(indexName)"
        guard Files.kindWithoutFollowing(index) == .file else { return "it has no \(indexName)" }
        let document = JSONField(try JSON.read(index), file: index)
        guard document["files"].exists else { return "its \(indexName) is not of accelc" }
        let listed = Set(try document["files"].array().map { try $0["name"].string() } + [indexName])
        if let other = try Files.members(of: path).first(where: { !listed.contains($0) }) {
            return "it holds \(other), which is no part of the export"
        }
        return try WrittenDocument.change(of: indexName, in: path)
    }
}

extension Files {
    /// Returns all files below a folder.
    fileprivate static func members(of path: String, in prefix: String = "") throws -> [String] {
        try list("\(path)/\(prefix)").flatMap { part -> [String] in
            let name = prefix + part
            return kindWithoutFollowing("\(path)/\(name)") == .folder
                ? try members(of: path, in: "\(name)/") : [name]
        }
    }
}

extension OutputKind {
    /// An unchanged CTranslate2 folder of accelc. Models of other converters are not replaced.
    static let ctranslate2Folder = OutputKind.folder("a CTranslate2 model") {
        try CTranslate2Folder.refusalReason(for: $0)
    }
}
