import AccelByteIO
import AccelPrograms
import AccelTensors

/// A value of a function under construction.
struct MILOperand: Hashable, Sendable {
    let name: String
    let type: MILTensorType
    /// Whether the value is known when the model is compiled, as Core ML requires of weights.
    let isConstant: Bool

    var sizes: [Int] { type.sizes ?? [] }
}

/// An argument of an operation.
enum MILParameter {
    case operand(MILOperand)
    /// An optional argument; nil leaves it out.
    case optional(MILOperand?)
    case operands([MILOperand])
    case value(MILValue)
}

/// Appends operations to a function; names are made valid and unique.
struct MILBuilder {
    private(set) var operations: [MILOperation] = []
    private var names: Set<String> = []
    private var constants: [MILValue: MILOperand] = [:]
    /// The base name of the following operations.
    var label = ""
    /// The type of floating-point results.
    var floatType: MILDataType
    /// The shape of the result of the current node.
    var resultSizes: [Int] = []
    var resultType: MILDataType

    init(floatType: MILDataType) {
        self.floatType = floatType
        resultType = floatType
    }

    /// Returns a valid name made of `text` that is not in use yet.
    mutating func unique(_ text: String) -> String {
        let base = Self.identifier(text)
        var (name, number) = (base, 1)
        while !names.insert(name).inserted {
            number += 1
            name = "\(base)_\(number)"
        }
        return name
    }

    /// Returns a valid Core ML name.
    static func identifier(_ text: String) -> String { CoreMLNames.identifier(text) }

    /// Returns the operand of a small constant; equal constants share one.
    mutating func constant(_ value: MILValue, _ name: String) -> MILOperand {
        if let known = constants[value] { return known }
        let operand = declare(name, value)
        constants[value] = operand
        return operand
    }

    /// Appends a `const` operation.
    mutating func declare(_ name: String, _ value: MILValue) -> MILOperand {
        let name = unique(name)
        operations.append(
            MILOperation(
                "const", outputs: [MILNamed(name, .tensor(value.type))],
                attributes: [MILNamed("name", MILValue(name)), MILNamed("val", value)]))
        return MILOperand(name: name, type: value.type, isConstant: true)
    }

    /// Appends an operation that decompresses a weight; its operands are immediate values.
    mutating func decompress(
        _ type: String, _ name: String, _ result: MILTensorType, inputs: [MILNamed<[MILBinding]>] = [],
        attributes: [MILNamed<MILValue>] = []
    ) -> MILOperand {
        decompress(type, [(name, result)], inputs: inputs, attributes: attributes)[0]
    }

    /// Appends a decompression with several results.
    mutating func decompress(
        _ type: String, _ results: [(name: String, type: MILTensorType)], inputs: [MILNamed<[MILBinding]>] = [],
        attributes: [MILNamed<MILValue>] = []
    ) -> [MILOperand] {
        let operands = results.map { MILOperand(name: unique($0.name), type: $0.type, isConstant: true) }
        operations.append(
            MILOperation(
                type, inputs: inputs, outputs: operands.map { MILNamed($0.name, .tensor($0.type)) },
                attributes: [MILNamed("name", MILValue(operands.last?.name ?? type))] + attributes))
        return operands
    }

    mutating func apply(
        _ type: String, _ parameters: KeyValuePairs<String, MILParameter>, _ result: MILTensorType,
        named name: String? = nil
    ) -> MILOperand {
        let inputs = bindings(parameters)
        let name = name ?? unique(label.isEmpty ? type : label)
        operations.append(
            MILOperation(
                type, inputs: inputs, outputs: [MILNamed(name, .tensor(result))],
                attributes: [MILNamed("name", MILValue(name))]))
        return MILOperand(name: name, type: result, isConstant: false)
    }

    /// Appends an operation with several results.
    mutating func apply(
        _ type: String, _ parameters: KeyValuePairs<String, MILParameter>, _ results: [MILTensorType]
    ) -> [MILOperand] {
        let inputs = bindings(parameters)
        let names = results.map { _ in unique(label.isEmpty ? type : label) }
        operations.append(
            MILOperation(
                type, inputs: inputs, outputs: zip(names, results).map { MILNamed($0, .tensor($1)) },
                attributes: [MILNamed("name", MILValue(names.first ?? type))]))
        return zip(names, results).map { MILOperand(name: $0, type: $1, isConstant: false) }
    }

    /// Appends an operation without a result.
    mutating func perform(_ type: String, _ parameters: KeyValuePairs<String, MILParameter>) {
        let inputs = bindings(parameters)
        let name = MILNamed("name", MILValue(unique("\(label)_\(type)")))
        operations.append(MILOperation(type, inputs: inputs, attributes: [name]))
    }

    private mutating func bindings(_ parameters: KeyValuePairs<String, MILParameter>) -> [MILNamed<[MILBinding]>] {
        parameters.compactMap { parameter, argument in
            switch argument {
            case .operand(let operand): MILNamed(parameter, [.name(operand.name)])
            case .optional(let operand): operand.map { MILNamed(parameter, [.name($0.name)]) }
            case .operands(let operands): MILNamed(parameter, operands.map { .name($0.name) })
            case .value(let value): MILNamed(parameter, [.name(constant(value, "\(label)_\(parameter)").name)])
            }
        }
    }

    /// Appends the operation that makes the node's result.
    mutating func result(_ type: String, _ parameters: KeyValuePairs<String, MILParameter>) -> MILOperand {
        apply(type, parameters, MILTensorType(resultType, resultSizes))
    }

    /// Appends an intermediate operation.
    mutating func step(
        _ type: String, _ parameters: KeyValuePairs<String, MILParameter>, _ sizes: [Int],
        _ dataType: MILDataType? = nil
    ) -> MILOperand {
        apply(type, parameters, MILTensorType(dataType ?? floatType, sizes))
    }

    /// Returns a floating-point scalar of the node's type.
    func number(_ number: Double) -> MILParameter { .value(numberValue(number)) }

    func numberValue(_ number: Double) -> MILValue {
        MILValue(floats: [floatType == .float16 ? Float(number).keptFromZero : Float(number)], floatType, [])
    }

    mutating func reshaped(_ operand: MILOperand, _ sizes: [Int]) -> MILOperand {
        if operand.sizes == sizes { return operand }
        return apply(
            "reshape", ["x": .operand(operand), "shape": .value(MILValue(sizes))],
            MILTensorType(operand.type.dataType, sizes))
    }

    mutating func cast(_ operand: MILOperand, to dataType: MILDataType, named name: String? = nil) -> MILOperand {
        apply(
            "cast", ["x": .operand(operand), "dtype": .value(MILValue(dataType.word))],
            MILTensorType(dataType, operand.type.dimensions), named: name)
    }
}

extension MILValue {
    /// A constant of floats, rounded to nearest for fp16.
    init(floats: [Float], _ dataType: MILDataType, _ sizes: [Int]) {
        let type = MILTensorType(dataType, sizes)
        self = dataType == .float16 ? MILValue(type, .bytes(floats.halfBytes)) : MILValue(type, .floats(floats))
    }
}

extension MILParameter: ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByStringLiteral {
    init(integerLiteral value: Int) { self = .value(MILValue(value)) }
    init(booleanLiteral value: Bool) { self = .value(MILValue(value)) }
    init(stringLiteral value: String) { self = .value(MILValue(value)) }
}
