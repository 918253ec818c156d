package import AccelByteIO
package import AccelPackages

/// The files that a runtime of another project loads: several exports of one model in a folder, beside the model's own files. A new
/// contract is one file in this folder and one line in `all`. The families build its parts (`ModelFamily.contractParts`).
package struct RuntimeContract: Sendable {
    /// One export.
    package struct Part: Sendable {
        /// The name of the family's part and, without its suffix, of the export.
        package let name: String
        /// The values of the exporter's options that the runtime requires.
        package let options: [(option: ExportOption, value: String)]
        /// Whether the part reads weights of the checkpoint, which a recipe may compress.
        package var readsWeights = true
    }

    /// The contracts, in the order of help pages.
    package static let all: [RuntimeContract] = [whisperKit]

    /// The name of the list of files in the folder.
    private static let listName = "contract.json"

    /// The name in requests.
    package let name: String
    /// The families with its parts, by `ModelFamily.name`.
    package let families: [String]
    /// The format of the exports.
    package let format: any Exporter.Type
    /// The exports.
    package let parts: [Part]
    /// The files of the model that are copied, as far as it has them.
    let sideFiles: [String]
    /// Returns the shell command after which the runtime loads the folder; nil for none.
    package let lastCommand: @Sendable (_ folder: String) -> String?
    /// Returns sentences on sizes and files that the runtime does not support, though the exports are as it requires.
    let findings: @Sendable (_ folder: String) throws -> [String]

    /// Returns the name of a part's export.
    package func fileName(of part: Part) -> String { part.name + (format.output.suffixes.first ?? "") }
}

extension RuntimeContract {
    /// An unchanged folder of the contract. Its list names every file in it.
    package var output: OutputKind {
        OutputKind.folder("a folder of models for \(name)") { try rejectionReason(for: $0) }
    }

    private var mark: String { "contract \(name)" }

    /// Completes a folder with the exports: copies the model's files, and writes the list.
    /// - Parameter assets: all files of the model that may be copied.
    /// - Returns: the names of all files, sorted, and the contract's findings.
    package func complete(
        _ folder: String, with assets: [Asset]
    ) throws -> (files: [String], findings: [String]) {
        _ = try assets.filter { sideFiles.contains($0.name) }.write(to: folder, besides: [])
        let names = try Self.entries(of: folder).filter { !$0.isFolder }.map(\.name).sorted()
        try AtomicFile.write(
            WrittenDocument.text(of: [JSON.Member("accelc", .string(mark))], listing: names, in: folder),
            to: "\(folder)/\(Self.listName)", as: .internal)
        return ((names + [Self.listName]).sorted(), try findings(folder))
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
