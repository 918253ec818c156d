import AccelByteIO
import AccelPackages
public import AccelTensors
import AccelWeightCompression

/// A Core AI model as a source of weights. Its functions are not read back.
public struct CoreAISource: ModelSource {
    /// The open model.
    public let package: CoreAIPackage
    public let files: ModelFiles

    /// A source of an open model.
    public init(_ package: CoreAIPackage) {
        self.package = package
        let content = ModelFiles.Source(
            name: CoreAIFolder.moduleName, path: "\(package.path)/\(CoreAIFolder.moduleName)", role: .weights,
            identity: Files.identity(of: "\(package.path)/\(CoreAIFolder.moduleName)"), content: package.bytesOfModule)
        files = ModelFiles(in: package.path, holding: [content])
    }

    public var format: any ModelFormat.Type { CoreAIFormat.self }
    public var path: String { package.path }
    public var abilities: Set<SourceAbility> { [.tensors, .check, .lint] }
    public func lint() throws -> [LintFinding] { try package.lint() }

    public func check(progress: (_ file: String) -> Void) throws -> Bool {
        progress(CoreAIFolder.moduleName)
        return try package.check()
    }

    public func model(
        parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        throw RequestError(
            "\(path): functions of Core AI models are not read back", status: .unavailable, code: .functionsNotRead,
            candidates: [CoreAIFormat.name])
    }

    public var weights: [SourceWeight] {
        get throws {
            try package.check()
            let (shapes, scalings) = (try package.checkpointShapes, try package.scalings)
            return try package.namedWeights().map { name, weight in
                let own = Shape(weight.shape)
                guard weight.shape.allSatisfy({ $0 >= 0 }), own.checkedCount != nil else {
                    throw FormatError(file: package.path, location: .field(name), reason: "a weight of shape \(own)")
                }
                let shape = shapes[name].flatMap { $0.checkedCount == own.checkedCount ? $0 : nil } ?? own
                return SourceWeight(
                    name: name, shape: shape, scheme: weight.scheme, storedBits: weight.storedBits,
                    codeBits: weight.codeBits
                ) {
                    var floats: [Float]
                    do {
                        floats = try weight.floats()
                    } catch let error as CoreAIWeightError {
                        throw FormatError(file: package.path, location: .field(name), reason: error.reason)
                    }
                    if let inverse = scalings[name]?.inverse, inverse.fits(shape) {
                        floats.withUnsafeMutableBufferPointer { inverse.apply(to: $0, rows: 0..<shape.rows) }
                    }
                    return StoredTensor(name: name, floats: floats, shape: shape)
                }
            }.sorted { $0.name < $1.name }
        }
    }
}
