import AccelByteIO
public import AccelTensors

/// The variables of a CTranslate2 model that no family of accelc has, for `inspect`, `decompress` and `diff`.
public struct CTranslate2VariableSource: ModelSource {
    public let path: String
    private let file: CTranslate2File
    /// Why no functions are read.
    private let reason: RequestError

    init(_ file: CTranslate2File, path: String, reason: RequestError) {
        (self.file, self.path, self.reason) = (file, path, reason)
    }

    public var format: any ModelFormat.Type { CTranslate2Format.self }
    public var abilities: Set<SourceAbility> { [.tensors] }
    public var files: ModelFiles { ModelFiles(in: path, holding: []) }

    /// The variables with dimensions; codes with their factors are one weight.
    public var weights: [SourceWeight] {
        let suffix = CTranslate2Factors.suffix
        let scales = Dictionary(
            file.variables.filter { $0.name.hasSuffix(suffix) }.map { ($0.name, $0) }
        ) { first, _ in first }
        return file.variables.filter { $0.shape.rank > 0 && !$0.name.hasSuffix(suffix) }.map { variable in
            let tensor = StoredTensor(
                name: variable.name, elementType: variable.elementType, shape: variable.shape, bytes: variable.bytes,
                file: path)
            guard let scale = scales[variable.name + suffix] else { return SourceWeight(tensor) }
            return SourceWeight(
                name: variable.name, shape: variable.shape, scheme: variable.elementType == .int8 ? "int8" : "int16",
                storedBits: (variable.bytes.count + scale.bytes.count) * 8,
                codeBits: Double(variable.elementType.byteCount * 8)
            ) { [path] in
                let factors = try CTranslate2Factors(of: variable, scale, path)
                return StoredTensor(name: variable.name, floats: factors.values(of: tensor), shape: variable.shape)
            }
        }
    }

    public func model(parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool) throws -> SourceModel {
        throw reason
    }
}
