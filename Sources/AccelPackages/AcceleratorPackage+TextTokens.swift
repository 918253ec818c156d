import AccelByteIO

extension AcceleratorPackage {
    /// The tokens that end a text: `eos_token_id` of generation_config.json, else of config.json, where it may be that of
    /// `text_config`. Empty if none of them has any. The converter passes both files through.
    /// - Throws: `FormatError` naming the file and the field, if it is no token or list of tokens; for a changed file.
    public func stopTokens() throws -> Set<Int64> {
        Set(try TextTokens.stop(in: document))
    }

    /// A sentence on the tokens that a text begins and ends with; nil if no file names any.
    package var textTokens: String? { TextTokens.summary(in: document) }

    private func document(_ name: String) throws -> JSONField? {
        try asset(name).map { asset in
            let file = files.describe("\(PackageFormat.assetsFolder)/\(name)")
            return JSONField(try JSON.parse(asset.content, file: file), file: file)
        }
    }
}
