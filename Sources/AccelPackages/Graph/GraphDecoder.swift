import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Reads graph.bin. The returned functions have passed the operators' shape rules, and the file is their only valid
/// encoding.
struct GraphDecoder {
    private var reader: TableReader
    private let file: String
    private let operators: [String]
    /// The version of each operator when the file was written, by name.
    let versions: [String: Int]
    /// All tensors that functions may read.
    let constants: [GraphConstant]

    /// Reads the tables before the functions.
    /// - Throws: `FormatError`, also for an operator that this tool lacks in this version.
    init(_ bytes: ByteView, file: String) throws {
        self.file = file
        var reader = try TableReader(bytes, file: file, magic: GraphEncoder.magic)
        let operators = try reader.list("operators", minimumBytes: 2) { try Self.operator(&$0) }
        constants = try reader.list("constants", minimumBytes: 4) { reader in
            let name = try reader.string("constant's name")
            let isWeight = try reader.byte("whether a constant is a weight", atMost: 1) == 1
            let (elementType, shape) = try reader.type()
            return GraphConstant(name: name, elementType: elementType, shape: shape, isWeight: isWeight)
        }
        guard Set(constants.map(\.name)).count == constants.count else {
            throw reader.error("two constants have one name")
        }
        versions = Dictionary(operators) { first, _ in first }
        self.operators = operators.map(\.name)
        guard versions.count == operators.count else { throw reader.error("an operator is listed twice") }
        self.reader = reader
    }

    private static func `operator`(_ reader: inout TableReader) throws -> (name: String, version: Int) {
        let start = reader.position
        let name = try reader.string("operator")
        let version = try reader.integer("version of an operator", atMost: 1 << 20)
        guard let known = Operators.version(of: name) else {
            throw reader.error("there is no operator \(quoted(name)) in accelc \(Tool.version)", at: start)
        }
        guard version >= 1, version <= known else {
            throw reader.error(
                "the operator \(name) is of version \(version), and accelc \(Tool.version) knows it up to version \(known): "
                    + "read the package with a later accelc", at: start)
        }
        return (name, version)
    }

    /// Reads the functions, which end the file.
    /// - Parameter tensors: the tensors of the constants, in order.
    consuming func functions(_ tensors: [CompressedTensor]) throws -> [FrozenProgram] {
        let tables = zip(constants, tensors).map { constant, tensor in
            constant.isWeight ? nil : tensor.sections.first.map { tensor.stored(as: $0) }
        }
        var used = 0
        var unread = Set(constants.indices)
        let functions = try reader.list("functions", minimumBytes: 6) { reader in
            var function = FunctionDecoder(
                constants: constants, tables: tables, operators: operators, versions: versions, file: file)
            let decoded = try function.decode(&reader, operatorsInUse: &used)
            unread.subtract(function.constantsRead)
            return decoded
        }
        if let index = unread.min() {
            throw reader.error("no function reads the constant \(quoted(constants[index].name))")
        }
        guard used == operators.count else {
            throw reader.error("only \(used) of \(operators.count) operators are in use")
        }
        try reader.finish()
        try functions.requireAgreement(file: file)
        return functions
    }
}

extension CompressedTensor {
    /// - Parameter bytes: the elements in the checkpoint's type.
    fileprivate func stored(as bytes: ByteView) -> StoredTensor {
        StoredTensor(name: name, elementType: elementType, shape: shape, bytes: bytes)
    }
}

extension [FrozenProgram] {
    /// Checks that functions have distinct names, and agree on the states that they share by name, type and shape.
    func requireAgreement(file: String) throws {
        var names: Set<String> = []
        var known: [String: (state: FrozenProgram.State, function: String)] = [:]
        for function in self {
            let name = function.functionName
            guard names.insert(name).inserted else {
                throw FormatError(file: file, reason: "two functions have the name \"\(name)\"")
            }
            for state in function.states {
                func fail(_ reason: String) -> FormatError {
                    FormatError(file: file, reason: "function \"\(name)\": state \"\(state.name)\" \(reason)")
                }
                let (other, owner) = known[state.name, default: (state, name)]
                known[state.name] = (other, owner)
                guard other.elementType == state.elementType else {
                    throw fail(
                        "is \(state.elementType.rawValue), but \(other.elementType.rawValue) in function \"\(owner)\"")
                }
                guard other.initial == state.initial else {
                    throw fail("starts as \(state.initial), but as \(other.initial) in function \"\(owner)\"")
                }
            }
        }
    }
}
