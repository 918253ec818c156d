import AccelByteIO
import AccelPackages
import AccelTensors

/// A CTranslate2 model while its family collects variables and configuration.
struct CTranslate2Draft {
    /// The name of the specification and its revision, which CTranslate2's loader checks.
    var specification = (name: "", revision: 1)
    private(set) var variables: [CTranslate2Variable] = []
    /// The members of CTranslate2's config.json.
    var members: [String: JSON] = [:]
    /// Where the written model computes something else than the original, a sentence each.
    var remarks: [String] = []
    /// The model's own config.json.
    let field: JSONField
    let tokenizer: CTranslate2Tokenizer
    private let tensors: [String: StoredTensor]
    private var used: Set<String> = []

    static let configurationName = "config.json"

    /// - Parameter prefixes: the prefixes of names that a checkpoint may have or lack.
    /// - Throws: `RequestError` if the model has no configuration; `FormatError` if a file is corrupt.
    init(_ tensors: [StoredTensor], assets: [Asset], prefixes: [String]) throws {
        guard let asset = assets.first(where: { $0.name == Self.configurationName }) else {
            throw RequestError("CTranslate2: the model has no \(Self.configurationName), which says what it computes")
        }
        field = JSONField(try JSON.parse(asset.content, file: asset.name), file: asset.name)
        tokenizer = try CTranslate2Tokenizer(assets)
        self.tensors = Dictionary(
            tensors.map { (Self.canonical($0.name, prefixes), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns a name without the prefix of the bare model, and with the names of norms of today.
    private static func canonical(_ name: String, _ prefixes: [String]) -> String {
        let bare = prefixes.first(where: name.hasPrefix).map { String(name.dropFirst($0.count)) } ?? name
        for (old, new) in [(".gamma", ".weight"), (".beta", ".bias")] where bare.hasSuffix(old) {
            return bare.dropLast(old.count) + new
        }
        return bare
    }

    // MARK: - Tensors of the model

    func has(_ name: String) -> Bool { tensors[name] != nil }

    /// Returns a tensor and counts it as used.
    mutating func take(_ name: String, rank: Int) throws -> StoredTensor {
        guard let tensor = tensors[name] else {
            throw RequestError(
                "CTranslate2: the model has no \(quoted(name)), which a \(specification.name) needs: export all of its parts"
            )
        }
        guard tensor.shape.rank == rank, tensor.shape.count > 0 else {
            throw tensor.error("expected \(rank) dimensions, found \(tensor.shape)")
        }
        guard [.float32, .float16, .bfloat16].contains(tensor.elementType) else {
            var error = tensor.error("CTranslate2 reads no \(tensor.elementType.rawValue)")
            (error.code, error.candidates) = (.unsupportedByFormat, ["float32"])
            throw error
        }
        used.insert(name)
        return tensor
    }

    /// The names of tensors that no variable holds.
    var unused: [String] { tensors.filter { !used.contains($0.key) }.map(\.value.name).sorted() }

    /// Returns the number of consecutive layers from 0 that have a tensor.
    /// - Parameter name: the tensor's name in a layer.
    func layerCount(_ name: (_ layer: Int) -> String) -> Int {
        var count = 0
        while has(name(count)) { count += 1 }
        return count
    }

    // MARK: - Variables

    mutating func set(_ name: String, _ scalar: CTranslate2Scalar) {
        variables.append(CTranslate2Variable(name, scalar))
    }

    /// Adds a number of config.json.
    mutating func set(_ name: String, int32 number: Int) throws {
        guard let number = Int32(exactly: number) else {
            throw RequestError("CTranslate2: \(name) is \(number), beyond 32 bits")
        }
        set(name, .int32(number))
    }

    /// Adds a number of attention heads.
    mutating func set(_ name: String, heads: Int) throws {
        guard let heads = Int16(exactly: heads) else {
            throw RequestError("CTranslate2: \(name) is \(heads), beyond 16 bits")
        }
        set(name, .int16(heads))
    }

    /// Adds a whole tensor, or its rows from `first` on.
    mutating func add(_ name: String, _ source: String, rank: Int, from first: Int = 0) throws {
        let tensor = try take(source, rank: rank)
        let rows = tensor.shape.dimensions[0]
        guard first < rows else { throw tensor.error("expected more than \(first) rows, found \(tensor.shape)") }
        try add(name, tensor, rows: first..<rows)
    }

    /// Adds rows of a tensor.
    mutating func add(_ name: String, _ tensor: StoredTensor, rows: Range<Int>) throws {
        let dimensions = tensor.shape.dimensions
        let width = tensor.shape.count / dimensions[0]
        let part = CTranslate2Variable.Part(tensor: tensor, elements: rows.lowerBound * width..<rows.upperBound * width)
        variables.append(CTranslate2Variable(name, Shape([rows.count] + dimensions.dropFirst()), [part]))
    }

    /// Adds floats that are not a tensor of the model.
    mutating func add(_ name: String, floats: [Float]) {
        let tensor = StoredTensor(name: name, floats: floats, shape: [floats.count])
        let part = CTranslate2Variable.Part(tensor: tensor, elements: 0..<floats.count)
        variables.append(CTranslate2Variable(name, tensor.shape, [part]))
    }

    /// Adds a linear layer whose rows are those of several modules, one after the other. Where only some have a bias, the others
    /// get zeros.
    mutating func linear(_ name: String, _ modules: [String]) throws {
        let weights = try modules.map { try take("\($0).weight", rank: 2) }
        let columns = weights[0].shape.dimensions[1]
        if let other = weights.first(where: { $0.shape.dimensions[1] != columns }) {
            throw other.error("expected \(columns) columns as \(quoted(weights[0].name)) has, found \(other.shape)")
        }
        let rows = weights.map { $0.shape.dimensions[0] }
        variables.append(
            CTranslate2Variable(
                "\(name)/weight", [rows.reduce(0, +), columns],
                weights.map { CTranslate2Variable.Part(tensor: $0, elements: 0..<$0.shape.count) }))
        guard modules.contains(where: { has("\($0).bias") }) else { return }
        let biases = try zip(modules, rows).map { module, rows in
            let bias = has("\(module).bias") ? try take("\(module).bias", rank: 1) : nil
            if let bias, bias.shape.count != rows { throw bias.error("expected \(rows) elements, found \(bias.shape)") }
            return CTranslate2Variable.Part(tensor: bias, elements: 0..<rows)
        }
        variables.append(CTranslate2Variable("\(name)/bias", [rows.reduce(0, +)], biases))
    }

    /// Adds a norm: gains, and shifts unless it has none.
    mutating func norm(_ name: String, _ module: String, shifts: Bool = true) throws {
        try add("\(name)/gamma", "\(module).weight", rank: 1)
        if shifts { try add("\(name)/beta", "\(module).bias", rank: 1) }
    }
}
