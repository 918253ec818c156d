public import AccelByteIO
public import AccelTensors

/// The variables of a CTranslate2 model as a source, for `inspect`, `decompress` and `diff`. Its layout of functions is not read.
public struct CTranslate2Source: ModelSource {
    public let path: String
    private let file: CTranslate2File

    /// Opens a model.
    /// - Throws: `FormatError` if model.bin is corrupt.
    init(_ path: String) throws {
        let name = "\(path)/\(CTranslate2File.fileName)"
        try self.init(parsing: MappedFile(name).bytes, file: name, path: path)
    }

    /// Reads the bytes of a model.bin.
    /// - Parameters:
    ///   - name: the name of the file, for errors.
    ///   - path: the path of the model.
    /// - Throws: `FormatError` with the offset or the variable that is wrong.
    public init(parsing bytes: ByteView, file name: String, path: String) throws {
        file = try CTranslate2File(parsing: bytes, file: name)
        try file.check(file: name)
        self.path = path
    }

    public var format: any ModelFormat.Type { CTranslate2Format.self }
    public var abilities: Set<SourceAbility> { [.tensors] }
    public var files: ModelFiles { ModelFiles(in: path, holding: []) }

    /// The variables with dimensions; codes with their factors are one weight.
    public var weights: [SourceWeight] {
        let scales = Dictionary(
            file.variables.filter { $0.name.hasSuffix("_scale") }.map { ($0.name, $0) }
        ) { first, _ in first }
        return file.variables.filter { $0.shape.rank > 0 && !$0.name.hasSuffix("_scale") }.map { variable in
            let tensor = StoredTensor(
                name: variable.name, elementType: variable.elementType, shape: variable.shape, bytes: variable.bytes,
                file: path)
            guard let scale = scales["\(variable.name)_scale"] else { return SourceWeight(tensor) }
            return SourceWeight(
                name: variable.name, shape: variable.shape, scheme: variable.elementType == .int8 ? "int8" : "int16",
                storedBits: (variable.bytes.count + scale.bytes.count) * 8,
                codeBits: Double(variable.elementType.byteCount * 8)
            ) {
                let factors = StoredTensor(
                    name: scale.name, elementType: scale.elementType, shape: scale.shape, bytes: scale.bytes
                ).floats()
                let width = max(1, variable.shape.count / max(factors.count, 1))
                let codes = tensor.floats()
                return StoredTensor(
                    name: variable.name, floats: codes.enumerated().map { $1 / factors[$0 / width] },
                    shape: variable.shape)
            }
        }
    }

    public func model(parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool) throws -> SourceModel {
        throw RequestError(
            "\(path) is a CTranslate2 model, whose functions accelc does not read", status: .unavailable,
            code: .functionsNotRead, candidates: [CTranslate2Format.name])
    }
}

extension CTranslate2File {
    /// Checks that codes have a factor for each row, or one for all.
    /// - Throws: `FormatError` with the variable.
    func check(file: String) throws {
        let names = Dictionary(variables.map { ($0.name, $0) }) { first, _ in first }
        for variable in variables where variable.name.hasSuffix("_scale") {
            let owner = String(variable.name.dropLast("_scale".count))
            guard let codes = names[owner] else { continue }
            let rows = codes.shape.dimensions.first ?? 1
            guard variable.elementType == .float32, [1, rows].contains(variable.shape.count), codes.shape.count > 0
            else {
                throw FormatError(
                    file: file, location: .tensor(variable.name, index: nil),
                    reason: "expected F32 [\(rows)], a factor for each row of \(quoted(owner)), found "
                        + "\(variable.elementType.rawValue) \(variable.shape)")
            }
        }
    }
}
