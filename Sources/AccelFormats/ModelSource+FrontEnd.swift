import AccelByteIO
public import AccelFrontEnds
import AccelPackages

extension ModelSource {
    /// The tokenizer, chat templates and labels among the files that packages of the model get.
    /// - Throws: `RequestError` with exit status 3 if there is no tokenizer; `FormatError` for a file that cannot be read.
    public func textFrontEnd() throws -> TextFrontEnd {
        let assets = try assets
        let files = NamedFiles(in: path, names: assets.map(\.name)) { name in
            assets.first { $0.name == name }?.content
        }
        guard let frontEnd = try TextFrontEnd(files: files) else {
            throw RequestError("\(path) has no tokenizer", status: .unavailable)
        }
        return frontEnd
    }
}
