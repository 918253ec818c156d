import AccelByteIO

extension AcceleratorPackage {
    /// The assets that name the tokens that end a text; of these the first with an opinion decides, as in the framework.
    private static let stopTokenFiles = ["generation_config.json", "config.json"]

    /// The tokens that end a text: `eos_token_id` of generation_config.json, else of config.json, where it may be that of
    /// `text_config`. Empty if none of them has any. The converter passes both files through.
    /// - Throws: `FormatError` naming the file and the field, if it is no token or list of tokens; for a changed file.
    public func stopTokens() throws -> Set<Int64> {
        for name in Self.stopTokenFiles {
            guard let asset = try asset(name) else { continue }
            let file = files.describe("\(PackageFormat.assetsFolder)/\(name)")
            let document = JSONField(try JSON.parse(asset.content, file: file), file: file)
            for field in [document["eos_token_id"], document["text_config"]["eos_token_id"]] where field.exists {
                let fields = if case .array? = field.value { try field.array() } else { [field] }
                return Set(try fields.map { Int64(try $0.int(in: 0...Int(Int32.max))) })
            }
        }
        return []
    }
}
