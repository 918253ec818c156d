import AccelByteIO
import AccelTensors

/// The folder of an `.mlpackage`: a `Manifest.json` that lists items under `Data/`, one of which is the model.
struct PackageFolder {
    private let path: String
    /// `model.mlmodel`, relative to the package.
    private let modelName: String
    /// The path of the blob file in the package, which may be missing.
    private let weightsName: String
    /// The identifier of the model in the manifest.
    let identifier: String
    private let manifest: MappedFile

    init(_ path: String) throws {
        let manifest = "\(path)/Manifest.json"
        guard Files.kind(of: path) != nil else {
            throw RequestError(Files.brokenLink(path) ?? "there is no package at \(path)", status: .unavailable)
        }
        guard Files.kind(of: manifest) != nil else {
            throw FormatError(file: path, reason: "has no Manifest.json, as every Core ML package has")
        }
        let file = try MappedFile("Manifest.json", inside: path)
        let document = JSONField(try JSON.parse(file.bytes, file: manifest, limits: Self.limits), file: manifest)
        let version = try document["fileFormatVersion"].string()
        guard version.hasPrefix("1.0.") else {
            throw document["fileFormatVersion"].error("is \(quoted(version)); accelc reads version 1.0")
        }
        let root = try document["rootModelIdentifier"].string()
        var model: String?
        for (identifier, item) in try document["itemInfoEntries"].members() {
            let name = try item["path"].string()
            guard isRelativeInside(name) else {
                throw item["path"].error("\(quoted(name)) does not lie inside of the package")
            }
            guard Files.kind(of: "\(path)/Data/\(name)") != nil else {
                throw item["path"].error("there is no Data/\(name) in the package")
            }
            if identifier == root { model = "Data/\(name)" }
        }
        guard let model, let folder = Files.parentFolder(of: model) else {
            throw document["rootModelIdentifier"].error("no item is called \(quoted(root))")
        }
        self.path = path
        self.manifest = file
        modelName = model
        identifier = root
        weightsName = "\(folder)/weights/weight.bin"
    }

    /// Limits for the size of a manifest.
    private static let limits = JSON.Limits(bytes: 1 << 20, depth: 16, values: 1 << 14)

    /// Returns the files as sources of a conversion, with the blob file as one tensor of bytes.
    func sources(_ model: MappedFile, _ weights: MappedFile?) -> [ModelFiles.Source] {
        let read = [("Manifest.json", manifest), (modelName, model)].map { name, file in
            ModelFiles.Source(
                name: name, path: file.path, role: .index, identity: file.identity, content: file.bytes)
        }
        guard let weights else { return read }
        let tensor = StoredTensor(
            name: weightsName, elementType: .uint8, shape: [weights.bytes.count], bytes: weights.bytes,
            file: weights.path)
        let blobs = ModelFiles.Source(
            name: weightsName, path: weights.path, role: .weights, identity: weights.identity,
            content: ByteView([UInt8]()), tensors: [tensor])
        return read + [blobs]
    }

    var model: MappedFile { get throws { try MappedFile(modelName, inside: path) } }
    /// The blob file; nil if there is none.
    var weights: MappedFile? {
        get throws {
            Files.kindWithoutFollowing("\(path)/\(weightsName)") == nil
                ? nil : try MappedFile(weightsName, inside: path)
        }
    }
}
