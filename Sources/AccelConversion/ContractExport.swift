import AccelByteIO
package import AccelFormats
import AccelPackages
import AccelWeightCompression

/// An export of one model as the folder that a runtime of another project loads.
package struct ContractExport: Sendable {
    /// The model and the schemes of its weights. The contract chooses parts and shapes.
    private var conversion: Conversion
    private let contract: RuntimeContract
    /// Values of the exporter's options; those of the contract come first.
    private let choices: ExportOptionValues

    /// An export of a conversion's model for a runtime.
    package init(of conversion: Conversion, for contract: RuntimeContract, choices: ExportOptionValues) {
        (self.conversion, self.contract, self.choices) = (conversion, contract, choices)
    }

    /// The result: a folder of exports and other files.
    package struct Result {
        /// Each export by its path in the folder, which is nil if the folder itself is the export.
        package let exports: [(path: String?, files: ExportedFiles)]
        /// The names of all files, sorted.
        package let files: [String]
        /// Sentences on sizes and files that the runtime does not support.
        package let findings: [String]
        /// Bytes of all files.
        package let byteCount: Int
    }

    /// The name of an export whose files are moved into the folder.
    private static let movedName = ".export"

    /// Exports each part, copies the model's files, and publishes the folder as a whole; blocks until that is done.
    /// - Parameters:
    ///   - output: the folder to write. Only an earlier folder of the contract, or of its format if the folder is one export, is replaced;
    ///     the call fails if anything else is there.
    ///   - settings: the cache, threads and cancellation.
    ///   - emit: receives the events of all exports, on the calling thread; equal messages once.
    /// - Throws: `RequestError` for a package, for a model of another family, and for schemes that the runtime does not load; otherwise
    ///   as `ModelExport.export`.
    package func export(
        to output: String, _ settings: ConversionSettings, emit: (ConversionEvent) -> Void
    ) throws -> Result {
        try contract.output.requireReplaceable(output)
        let assets = try assetsOfModel()
        let folder = try AtomicFolder(replacing: output, as: contract.output)
        var messages: Set<String> = []
        let exports = try contract.parts.map { part in
            let path = contract.path(of: part)
            let target = "\(folder.path)/\(path ?? Self.movedName)"
            if let parent = Files.parentFolder(of: target) { try Files.makeFolder(parent) }
            let files = try export(of: part).export(to: target, settings) { event in
                let isProgress = [.stage, .step, .weight].contains(event.kind)
                // The contract chooses the shapes.
                guard isProgress || event.code != .usualShapes && messages.insert(event.text).inserted else { return }
                emit(event)
            }
            if path == nil { try Self.move(target, into: folder.path) }
            return (path: path, files: files)
        }
        let (files, findings) = try contract.complete(folder.path, with: assets)
        let byteCount = try Files.byteCount(ofTree: folder.path)
        try settings.cancellation.check()
        try folder.commit()
        return Result(exports: exports, files: files, findings: findings, byteCount: byteCount)
    }

    /// Moves the content of a folder into the folder around it.
    private static func move(_ path: String, into folder: String) throws {
        for name in try Files.list(path) { try Files.rename("\(path)/\(name)", to: "\(folder)/\(name)") }
        try Files.removeTree(path)
    }

    /// - Throws: `RequestError` if the model has not the contract's parts.
    private func assetsOfModel() throws -> [Asset] {
        guard !AcceleratorPackage.looksLikePackage(at: conversion.model) else {
            throw RequestError(
                "\(conversion.model) is a package, whose parts are chosen already: \(contract.name) is written from a model"
            )
        }
        let source = try conversion.open()
        let family = try source.model(
            parts: [], ignoredTensors: conversion.ignoredTensors, allowsIdlePatterns: true
        ).family
        guard contract.families.contains(family) else {
            let families = contract.families.joined(separator: ", ")
            let gap = contract.gap.map { " (\($0))" } ?? ""
            throw RequestError(
                "\(contract.name) is for models of \(families), and \(conversion.model) is of \(family)\(gap)")
        }
        return try source.assets
    }

    private func export(of part: RuntimeContract.Part) throws -> ModelExport {
        var conversion = conversion
        conversion.parts = part.names
        if !part.readsWeights { conversion.recipe = try Recipe(scheme: "float16") }
        let choices = part.options.reduce(choices) { $0.setting($1.option, to: $1.value) }
        return ModelExport(of: conversion, to: contract.format, choices: choices)
    }
}
