import AccelByteIO
public import AccelFrontEnds
import AccelPackages
import AccelTensors

extension AccelModel {
    /// The tokenizer, chat templates, labels and settings of generation that the package has. They are read once.
    /// - Throws: `AccelError`: (unsupported) if the package has no tokenizer, (corrupt) if a file cannot be read.
    public func text() throws(AccelError) -> TextFrontEnd {
        let path = package.path
        do {
            if let read = try frontEnd.withLock({ read throws in
                if read == nil { read = try TextFrontEnd(files: package.assetFiles) }
                return read
            }) {
                return read
            }
        } catch {
            throw AccelError(error, at: path)
        }
        throw AccelError(.unsupported, "the package has no tokenizer", at: path)
    }
}

extension AcceleratorPackage {
    /// The files that were passed through.
    package var assetFiles: NamedFiles {
        NamedFiles(in: path, names: manifest.assetNames) { name in try self.asset(name)?.content }
    }
}

extension GenerationOptions {
    /// The settings of a model's author, as generation_config.json states them.
    /// - Parameter seed: chooses the tokens, where they are chosen at random.
    public init(_ defaults: GenerationDefaults, maxTokens: Int = 256, seed: UInt64 = 0) {
        self.init(maxTokens: maxTokens)
        repetitionPenalty = defaults.repetitionPenalty
        if defaults.samples {
            sampling = .random(
                temperature: defaults.temperature, topK: defaults.topK, topP: defaults.topP, minP: defaults.minP,
                seed: seed)
        }
    }
}
