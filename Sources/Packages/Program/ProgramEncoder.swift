import ByteIO
import Programs
import Tensors

/// Writes program.bin: header, strings, sections, weights, functions.
struct ProgramEncoder {
    static let magic = Array("ACCELPRG".utf8)

    private var strings: [String] = []
    private var indices: [String: Int] = [:]
    private var body = ByteWriter()

    /// - Throws: `RequestError` when a call's attribute has a free dimension (a frozen program has none).
    static func encode(_ functions: [CompiledFunction], weights: [WeightRecord], sections: [Section]) throws -> ByteView
    {
        var encoder = ProgramEncoder()
        encoder.integer(sections.count)
        for section in sections { encoder.section(section) }
        encoder.integer(weights.count)
        for weight in weights { encoder.weight(weight) }
        encoder.integer(functions.count)
        for function in functions { try encoder.function(function) }

        var file = ByteWriter()
        file.append(magic)
        file.append(UInt16(PackageFormat.major))
        file.append(UInt16(PackageFormat.programMinor))
        file.append(UInt32(0))
        file.variable(UInt64(encoder.strings.count))
        for string in encoder.strings { file.string(string) }
        file.append(encoder.body.bytes)
        return file.view
    }

    private mutating func integer(_ number: Int) { body.variable(UInt64(number.magnitude)) }

    private mutating func string(_ text: String) {
        let index = indices[text] ?? strings.count
        if index == strings.count {
            indices[text] = index
            strings.append(text)
        }
        integer(index)
    }

    private mutating func shape(_ shape: Shape) {
        integer(shape.rank)
        for extent in shape.dimensions { integer(extent) }
    }

    private mutating func section(_ section: Section) {
        integer(section.blob)
        integer(section.offset)
        integer(section.byteCount)
        body.append(section.digest.bytes)
    }

    private mutating func weight(_ weight: WeightRecord) {
        string(weight.name)
        body.append(weight.elementType.code)
        shape(weight.shape)
        string(weight.codec)
        integer(weight.sections.count)
        for section in weight.sections { integer(section) }
    }

    private mutating func function(_ function: CompiledFunction) throws {
        string(function.name)
        string(function.part)
        integer(function.bindings.numbers.count)
        for (name, number) in function.bindings.numbers.sorted(by: { $0.key < $1.key }) {
            string(name)
            integer(number)
        }
        ports(function.inputs)
        states(function.states)
        integer(function.arenaBytes)
        integer(function.calls.count)
        for call in function.calls { try self.call(call) }
        integer(function.outputs.count)
        for output in function.outputs {
            string(output.name)
            operand(output.operand)
        }
    }

    private mutating func ports(_ ports: [CompiledFunction.Port]) {
        integer(ports.count)
        for port in ports {
            string(port.name)
            body.append(port.elementType.code)
            shape(port.shape)
        }
    }

    private mutating func states(_ states: [CompiledFunction.State]) {
        ports(states.map(\.port))
        for state in states { body.append(state.initial.bitPattern) }
    }

    private mutating func call(_ call: KernelCall) throws {
        string(call.operation.name)
        string(call.label)
        let attributes = call.operation.attributes.values.sorted { $0.key < $1.key }
        integer(attributes.count)
        for (name, value) in attributes {
            string(name)
            try attribute(value, of: call)
        }
        integer(call.inputs.count)
        for input in call.inputs { operand(input) }
        integer(call.outputs.count)
        for output in call.outputs { operand(output) }
    }

    private mutating func attribute(_ value: AttributeValue, of call: KernelCall) throws {
        switch value {
        case .integer(let integer):
            body.append(UInt8(0))
            body.zigzag(Int64(integer))
        case .number(let number):
            body.append(UInt8(1))
            body.append(number.bitPattern)
        case .word(let word):
            body.append(UInt8(2))
            string(word)
        case .flag(let flag):
            body.append(UInt8(3))
            body.append(UInt8(flag ? 1 : 0))
        case .integers(let integers):
            body.append(UInt8(4))
            integer(integers.count)
            for integer in integers { body.zigzag(Int64(integer)) }
        case .dimensions(let dimensions):
            body.append(UInt8(5))
            integer(dimensions.count)
            for dimension in dimensions {
                guard let number = dimension.value else {
                    throw RequestError(
                        "\(call.operation.name) \"\(call.label)\": dimension \(dimension) has no number; only a frozen program can be packaged"
                    )
                }
                body.zigzag(Int64(number))
            }
        }
    }

    private mutating func operand(_ operand: Operand) {
        let (kind, place): (UInt8, Int) =
            switch operand.storage {
            case .input(let index): (0, index)
            case .weight(let index): (1, index)
            case .arena(let offset): (2, offset)
            case .state(let index): (3, index)
            }
        body.append(kind)
        integer(place)
        body.append(operand.elementType.code)
        shape(operand.layout.shape)
        if operand.layout.offset == 0, operand.layout.strides == operand.layout.shape.strides {
            body.append(UInt8(0))
        } else {
            body.append(UInt8(1))
            integer(operand.layout.offset)
            for stride in operand.layout.strides { integer(stride) }
        }
    }
}
