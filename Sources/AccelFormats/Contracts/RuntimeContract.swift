package import AccelByteIO
package import AccelPackages

/// The files that a runtime of another project loads: one or several exports of a model in a folder, beside the model's own files. A new
/// contract is one file in this folder and one line in `all`. The families build its parts (`ModelFamily.contractParts`).
package struct RuntimeContract: Sendable {
    /// One export.
    package struct Part: Sendable {
        /// The names of the family's parts; empty for the parts that the family has by default.
        package let names: [String]
        /// The path in the folder without the format's suffix; nil if the files of the export are those of the folder, which has no other
        /// export then.
        let path: String?
        /// The values of the exporter's options that the runtime requires.
        package let options: [(option: ExportOption, value: String)]
        /// Whether the part reads weights of the checkpoint, which a recipe may compress.
        package let readsWeights: Bool

        /// A family's part.
        /// - Parameter path: the path in the folder without the format's suffix; nil for the part's name.
        init(
            name: String, path: String? = nil, options: [(option: ExportOption, value: String)],
            readsWeights: Bool = true
        ) {
            (self.names, self.path) = ([name], path ?? name)
            (self.options, self.readsWeights) = (options, readsWeights)
        }

        /// Several parts of a family as functions of one export.
        /// - Parameter path: the path in the folder without the format's suffix.
        init(names: [String], path: String, options: [(option: ExportOption, value: String)]) {
            (self.names, self.path, self.options, readsWeights) = (names, path, options, true)
        }

        private init() { (names, path, options, readsWeights) = ([], nil, [], true) }

        /// The whole model, whose files are those of the folder.
        static let model = Part()
    }

    /// The contracts, in the order of help pages.
    package static let all: [RuntimeContract] = [whisperKit, fluidAudio, mlxLM, mlxAudio, coreAILLM]

    /// The name of the list of files in a folder of several exports.
    private static let listName = "contract.json"

    /// The name in requests.
    package let name: String
    /// The models, as the option's help lists them.
    package let summary: String
    /// The families with its parts, by `ModelFamily.name`.
    package let families: [String]
    /// The reason why models of other families that the runtime runs have no export; nil if there are none.
    package var gap: String?
    /// The format of the exports.
    package let format: any Exporter.Type
    /// The exports.
    package let parts: [Part]
    /// The files of the model that are copied besides those that the exports have, as far as the model has them.
    var sideFiles: Set<String> = []
    /// The folder of the copied files in the contract's; nil for that folder.
    var sideFolder: String?
    /// Writes files about the exports, after all others.
    var describe: @Sendable (_ folder: String, _ assets: [Asset]) throws -> Void = { _, _ in }
    /// Returns the shell command after which the runtime loads the folder; nil for none.
    package var lastCommand: @Sendable (_ folder: String) -> String? = { _ in nil }
    /// Returns sentences on sizes and files that the runtime does not support, though the exports are as it requires.
    /// - Throws: `RequestError` for a request with which the runtime loads no model.
    let findings: @Sendable (_ folder: String) throws -> [String]

    /// Returns the path of a part's export in the folder; nil if the export is the folder.
    package func path(of part: Part) -> String? { part.path.map { $0 + (format.output.suffixes.first ?? "") } }
}

extension RuntimeContract {
    /// An unchanged folder of the contract: of its format if the folder is one export, otherwise with a list that names every file in it.
    package var output: OutputKind {
        guard parts.allSatisfy({ $0.path != nil }) else { return format.output }
        return OutputKind.folder("a folder of models for \(name)") { try rejectionReason(for: $0) }
    }

    private var mark: String { "contract \(name)" }

    /// Completes a folder with the exports: copies the model's files, and writes the list if there are several exports.
    /// - Parameter assets: all files of the model that may be copied.
    /// - Returns: the names of all files, sorted, and the contract's findings.
    /// - Throws: `RequestError` for a request with which the runtime loads no model.
    package func complete(
        _ folder: String, with assets: [Asset]
    ) throws -> (files: [String], findings: [String]) {
        let prefix = sideFolder.map { "\($0)/" } ?? ""
        _ = try assets.filter { sideFiles.contains($0.name) }
            .map { Asset(name: prefix + $0.name, content: $0.content) }
            .write(to: folder, besides: [])
        try describe(folder, assets)
        var names = try Self.entries(of: folder).filter { !$0.isFolder }.map(\.name).sorted()
        if parts.allSatisfy({ $0.path != nil }) {
            try AtomicFile.write(
                WrittenDocument.text(of: [JSON.Member("accelc", .string(mark))], listing: names, in: folder),
                to: "\(folder)/\(Self.listName)", as: .internal)
            names = (names + [Self.listName]).sorted()
        }
        return (names, try findings(folder))
    }

    private func rejectionReason(for path: String) throws -> String? {
        let list = "\(path)/\(Self.listName)"
        guard Files.kindWithoutFollowing(list) == .file else { return "it has no \(Self.listName)" }
        if let reason = try OutputKind.missingMark(mark, in: list) { return reason }
        let listed = try JSONField(try JSON.read(list), file: list)["files"].array().map { try $0["name"].string() }
        let files = Set(listed + [Self.listName])
        for (name, isFolder) in try Self.entries(of: path) {
            let isListed = isFolder ? listed.contains { $0.hasPrefix("\(name)/") } : files.contains(name)
            guard isListed, isFolder || Files.kindWithoutFollowing("\(path)/\(name)") == .file else {
                return "it holds \(name), which is no part of the export"
            }
        }
        return try WrittenDocument.change(of: Self.listName, in: path)
    }

    /// Returns everything below a folder.
    private static func entries(
        of path: String, in prefix: String = ""
    ) throws -> [(name: String, isFolder: Bool)] {
        try Files.list("\(path)/\(prefix)").flatMap { entry -> [(name: String, isFolder: Bool)] in
            let name = prefix + entry
            guard Files.kindWithoutFollowing("\(path)/\(name)") == .folder else { return [(name, false)] }
            return [(name, true)] + (try entries(of: path, in: "\(name)/"))
        }
    }
}

extension RuntimeContract {
    /// Returns the sentence about a folder without a tokenizer.json; none if it has one.
    static func missingTokenizer(in folder: String, _ consequence: String) -> [String] {
        Files.kind(of: "\(folder)/tokenizer.json") == .file ? [] : ["the model has no tokenizer.json: \(consequence)"]
    }

    /// Returns the options of a Core ML package with fixed shapes and one function.
    /// - Parameter type: of the arithmetic and of inputs.
    static func coreML(_ type: MILDataType, outputs: MILDataType) -> [(option: ExportOption, value: String)] {
        func name(_ type: MILDataType) -> String { type == .float16 ? "float16" : "float32" }
        return [
            (CoreMLExporter.precision, name(type)), (CoreMLExporter.layout, CoreMLOptions.Layout.plain.rawValue),
            (CoreMLExporter.shapes, "functions"), (CoreMLExporter.inputs, name(type)),
            (CoreMLExporter.outputs, name(outputs)),
        ]
    }

    /// Returns the command that compiles packages on a Mac, each beside itself.
    /// - Parameters:
    ///   - names: the names of the packages without their suffix.
    ///   - subfolder: the folder of the packages in the contract's, with a slash at its end; empty for that folder.
    static func compilation(of names: [String], in folder: String, _ subfolder: String = "") -> String {
        let folder = shellWord(Files.trimmingSlashes(Files.trimmingSlashes(folder) + "/" + subfolder))
        guard names.count > 1 else {
            return "xcrun coremlcompiler compile \(folder)/\(names.joined()).mlpackage \(folder)"
        }
        return "for model in \(names.joined(separator: " ")); do "
            + "xcrun coremlcompiler compile \(folder)/$model.mlpackage \(folder); done"
    }
}
