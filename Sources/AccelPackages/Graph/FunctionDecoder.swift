import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Reads one function of graph.bin. Nodes can refer only to earlier values, so every value exists before it is read.
struct FunctionDecoder {
    let constants: [GraphConstant]
    /// The tensors of constants that are tables; nil for weights.
    let tables: [StoredTensor?]
    let operators: [String]
    let versions: [String: Int]
    let file: String

    private var name = ""
    /// The types of all values so far, by `Value.id`.
    private var types: [TensorType] = []
    /// The number of inputs and states, which come first in the numbering of the file.
    private var portCount = 0
    /// The values of constants that are in use, by index.
    private var read: [Int: Value] = [:]
    private var results: [Value] = []
    private var labels: Set<String> = []

    init(
        constants: [GraphConstant], tables: [StoredTensor?], operators: [String], versions: [String: Int], file: String
    ) {
        (self.constants, self.tables, self.operators) = (constants, tables, operators)
        (self.versions, self.file) = (versions, file)
    }

    /// - Parameter used: the number of operators in use so far, because operators are listed in the order of first use.
    mutating func decode(_ reader: inout TableReader, operatorsInUse used: inout Int) throws -> FrozenProgram {
        let part = try reader.string("part")
        let bindings = try Self.bindings(&reader)
        name = bindings.numbers.isEmpty ? part : "\(part)[\(bindings)]"
        let inputs = try reader.list("inputs", minimumBytes: 3) {
            Program.Input(name: try $0.string("input"), value: try port(&$0) { $0 == $0.valueType })
        }
        let states = try reader.list("states", minimumBytes: 11) { reader in
            (
                name: try reader.string("state"), value: try port(&reader, \.isValueType),
                initial: try reader.double()
            )
        }
        try requireNames(inputs.map(\.name), states.map(\.name))
        for state in states {
            let type = types[state.value.id]
            guard type.elementType == .int8, !type.mayBeByteRows || state.initial != 0 else { continue }
            throw fail(
                "state \"\(state.name)\" is \(type), to start as \(state.initial); rows of I8 have codes and the 4 bytes of "
                    + "a scale, and start as 0")
        }
        for state in states where !types[state.value.id].elementType.holds(state.initial) {
            throw fail(
                "state \"\(state.name)\" is to start as \(state.initial), which "
                    + "\(types[state.value.id].elementType.rawValue) does not hold")
        }
        portCount = types.count
        let nodes = try reader.list("nodes", minimumBytes: 4) { try node(&$0, operatorsInUse: &used) }
        let outputs = try reader.list("outputs", minimumBytes: 2) {
            Program.Output(name: try $0.string("output"), value: try value(&$0))
        }
        guard Set(outputs.map(\.name)).count == outputs.count else { throw fail("two outputs have the same name") }
        if let output = outputs.first(where: { types[$0.value.id].elementType.isNarrowStateType }) {
            let type = types[output.value.id].elementType.rawValue
            throw fail("output \"\(output.name)\" is \(type); outputs are F32, I64 or BOOL")
        }
        let updated = try states.map { state in
            let next = try value(&reader)
            guard types[next.id] == types[state.value.id] else {
                throw fail("state \"\(state.name)\" is \(types[state.value.id]), but is updated with \(types[next.id])")
            }
            return Program.State(name: state.name, value: state.value, next: next, initial: state.initial)
        }
        let program = Program(
            name: part, dimensions: [], inputs: inputs, constants: readConstants, nodes: nodes, outputs: outputs,
            states: updated, types: types)
        // Inputs, attributes and constants have integer shapes, so shape rules give integer shapes for all results.
        return FrozenProgram(frozen: program, bindings: bindings)
    }

    private func fail(_ reason: String) -> FormatError {
        FormatError(file: file, reason: "function \"\(name)\": \(reason)")
    }

    private static func bindings(_ reader: inout TableReader) throws -> ShapeBindings {
        var numbers: [String: Int] = [:]
        var last: String?
        for _ in 0..<(try reader.count("shapes", minimumBytes: 2)) {
            let start = reader.position
            let dimension = try reader.string("dimension")
            guard last.map({ $0 < dimension }) ?? true else {
                throw reader.error("the dimensions are not sorted by name, or \(dimension) is bound twice", at: start)
            }
            last = dimension
            numbers[dimension] = try reader.integer("dimension \(dimension)", atMost: 1 << 40)
        }
        return ShapeBindings(numbers)
    }

    private mutating func port(
        _ reader: inout TableReader, _ isAllowed: (ElementType) -> Bool
    ) throws -> Value {
        let start = reader.position
        let (elementType, shape) = try reader.type()
        guard isAllowed(elementType) else {
            throw reader.error(
                "a value is \(elementType.rawValue); values are F32, I64 or BOOL, and of states also F16 or I8",
                at: start)
        }
        return made(TensorType(elementType, shape: shape))
    }

    private mutating func made(_ type: TensorType) -> Value {
        types.append(type)
        return Value(id: types.count - 1)
    }

    private func requireNames(_ inputs: [String], _ states: [String]) throws {
        let names = Set(inputs)
        guard names.count == inputs.count, Set(states).count == states.count else {
            throw fail("two inputs or states have the same name")
        }
        for state in states where names.contains(state) { throw fail("state \"\(state)\" has the name of an input") }
    }

    private mutating func value(_ reader: inout TableReader) throws -> Value {
        let number = try reader.integer("value", atMost: portCount + constants.count + results.count - 1)
        if number < portCount { return Value(id: number) }
        let index = number - portCount
        guard index < constants.count else { return results[index - constants.count] }
        if let value = read[index] { return value }
        let value = made(TensorType(constants[index].elementType.valueType, shape: constants[index].shape))
        read[index] = value
        return value
    }

    /// The indices of the constants in use.
    var constantsRead: some Sequence<Int> { read.keys }

    /// The constants in use as constants of the program, in the order of the graph.
    private var readConstants: [Program.Constant] {
        read.sorted { $0.key < $1.key }.map { index, value in
            let constant = constants[index]
            return Program.Constant(
                name: constant.name, elementType: constant.elementType, shape: constant.shape,
                isWeight: constant.isWeight, value: value, tensor: tables[index])
        }
    }

    private mutating func node(_ reader: inout TableReader, operatorsInUse used: inout Int) throws -> Program.Node {
        let start = reader.position
        let index = try reader.integer("operator", atMost: min(operators.count - 1, used))
        used = max(used, index + 1)
        let (name, label) = (operators[index], try reader.string("label"))
        let subject = "\(name) \"\(label)\""
        guard labels.insert(label).inserted else { throw fail("two nodes have the label \"\(label)\"") }
        let attributes = try Self.attributes(&reader)
        let inputs = try reader.list("inputs of a node") { try value(&$0) }
        do {
            let operation = try Operators.make(name, attributes)
            guard operation.attributes == attributes || versions[name] != Operators.version(of: name) else {
                throw OperatorError("has unknown attributes")
            }
            let made = try operation.checkedOutputTypes(inputs.map { types[$0.id] })
            guard !made.isEmpty, made.allSatisfy(\.elementType.isValueType) else {
                throw OperatorError("makes \(made); values are F32, F16, I8, I64 or BOOL")
            }
            let outputs = made.map { self.made($0) }
            results += outputs
            return Program.Node(label: label, operation: operation, inputs: inputs, outputs: outputs)
        } catch let error as OperatorError {
            throw reader.error("function \"\(self.name)\": \(subject): \(error.description)", at: start)
        }
    }

    private static func attributes(_ reader: inout TableReader) throws -> Attributes {
        var attributes = Attributes()
        var last: String?
        for _ in 0..<(try reader.count("attributes", minimumBytes: 2)) {
            let start = reader.position
            let name = try reader.string("attribute")
            guard last.map({ $0 < name }) ?? true else {
                throw reader.error("the attributes are not sorted by name, or \(name) is given twice", at: start)
            }
            last = name
            attributes[name] = try attribute(&reader)
        }
        return attributes
    }

    private static func attribute(_ reader: inout TableReader) throws -> AttributeValue {
        switch try reader.byte("kind of attribute", atMost: 5) {
        case 0: .integer(try reader.signed("integer"))
        case 1: .number(try reader.double())
        case 2: .word(try reader.string("word"))
        case 3: .flag(try reader.byte("flag", atMost: 1) == 1)
        case 4: .integers(try reader.list("integers") { try $0.signed("integer") })
        default: .dimensions(try reader.list("dimensions") { .fixed(try $0.signed("dimension")) })
        }
    }
}

extension ElementType {
    /// Returns whether a value of this type can be the number.
    func holds(_ number: Double) -> Bool {
        switch self {
        case .bool: number == 0 || number == 1
        case .int64: Int64(exactly: number) != nil
        case .float16: number.isFinite && Double(Half.value(Half.bits(Float(number)))) == number
        case .int8: Int8(exactly: number) != nil
        default: number.isFinite && Double(Float(number)) == number
        }
    }
}
