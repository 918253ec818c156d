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
        /// Each export by its name in the folder.
        package let exports: [(name: String, files: ExportedFiles)]
        /// The names of all files, sorted.
        package let files: [String]
        /// Sentences on sizes and files that the runtime does not support.
        package let findings: [String]
        /// Bytes of all files.
        package let byteCount: Int
    }

    /// Exports each part, copies the model's files, and publishes the folder as a whole; blocks until that is done.
    /// - Parameters:
    ///   - output: the folder to write. Only an earlier folder of the contract is replaced; the call fails if anything else is there.
    ///   - settings: the cache, threads and cancellation.
    ///   - emit: receives the events of all exports, on the calling thread; equal messages once.
    /// - Throws: `RequestError` for a package, and for a model of another family; otherwise as `ModelExport.export`.
    package func export(
        to output: String, _ settings: ConversionSettings, emit: (ConversionEvent) -> Void
    ) throws -> Result {
        try contract.output.requireReplaceable(output)
        let assets = try assetsOfModel()
        let folder = try AtomicFolder(replacing: output, as: contract.output)
        var messages: Set<String> = []
        let exports = try contract.parts.map { part in
            let name = contract.fileName(of: part)
            let files = try export(of: part).export(to: "\(folder.path)/\(name)", settings) { event in
                let isProgress = [.stage, .step, .weight].contains(event.kind)
                // The contract chooses the shapes.
                guard isProgress || event.code != .usualShapes && messages.insert(event.text).inserted else { return }
                emit(event)
            }
            return (name: name, files: files)
        }
        let (files, findings) = try contract.complete(folder.path, with: assets)
        let byteCount = try Files.byteCount(ofTree: folder.path)
        try settings.cancellation.check()
        try folder.commit()
        return Result(exports: exports, files: files, findings: findings, byteCount: byteCount)
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
            throw RequestError(
                "\(contract.name) is for models of \(contract.families.joined(separator: ", ")), and \(conversion.model) is of \(family)"
            )
        }
        return try source.assets
    }

    private func export(of part: RuntimeContract.Part) throws -> ModelExport {
        var conversion = conversion
        conversion.parts = [part.name]
        if !part.readsWeights { conversion.recipe = try Recipe(scheme: "float16") }
        let choices = part.options.reduce(choices) { $0.setting($1.option, to: $1.value) }
        return ModelExport(of: conversion, to: contract.format, choices: choices)
    }
}
