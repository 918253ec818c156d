import ByteIO
import Tensors

/// The folder of an `.mlpackage`: a `Manifest.json` that lists items under `Data/`, one of which is the model.
struct PackageFolder {
    /// The path of `model.mlmodel`.
    let model: String
    /// Where the model's weights are, if it has any.
    let weights: String

    init(_ path: String) throws {
        let manifest = "\(path)/Manifest.json"
        guard Files.kind(of: path) != nil else {
            throw RequestError("there is no package at \(path)", status: .unavailable)
        }
        guard Files.kind(of: manifest) != nil else {
            throw FormatError(file: path, reason: "has no Manifest.json, as every Core ML package has")
        }
        let document = JSONField(try JSON.parse(try MappedFile(manifest).bytes, file: manifest), file: manifest)
        let version = try document["fileFormatVersion"].string()
        guard version.hasPrefix("1.0.") else {
            throw document["fileFormatVersion"].error("is \(version); accelc reads version 1.0")
        }
        let root = try document["rootModelIdentifier"].string()
        var model: String?
        for (identifier, item) in try document["itemInfoEntries"].members() {
            let name = try item["path"].string()
            guard isRelativeInside(name) else {
                throw item["path"].error("\"\(name)\" does not lie inside of the package")
            }
            guard Files.kind(of: "\(path)/Data/\(name)") != nil else {
                throw item["path"].error("there is no Data/\(name) in the package")
            }
            if identifier == root { model = "\(path)/Data/\(name)" }
        }
        guard let model, let folder = Files.parentFolder(of: model) else {
            throw document["rootModelIdentifier"].error("no item is called \(root)")
        }
        self.model = model
        weights = "\(folder)/weights/weight.bin"
    }
}
