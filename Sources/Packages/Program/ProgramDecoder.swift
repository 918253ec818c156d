import ByteIO
import Programs
import Tensors

/// Reads program.bin. What it returns is well formed; `ProgramValidator` says whether it can be run.
struct ProgramDecoder {
    struct Decoded {
        var sections: [Section]
        var weights: [WeightRecord]
        var functions: [CompiledFunction]
    }

    private var reader: ByteReader
    private var strings: [String] = []

    static func decode(_ bytes: ByteView, file: String) throws -> Decoded {
        var decoder = ProgramDecoder(reader: ByteReader(bytes, file: file))
        try decoder.header()
        let decoded = Decoded(
            sections: try decoder.list("sections", minimumBytes: 35) { try $0.section() },
            weights: try decoder.list("weights", minimumBytes: 5) { try $0.weight() },
            functions: try decoder.list("functions", minimumBytes: 7) { try $0.function() })
        try decoder.reader.finish()
        return decoded
    }

    private mutating func header() throws {
        let magic = try reader.bytes(ProgramEncoder.magic.count)
        guard magic.withBytes({ $0.elementsEqual(ProgramEncoder.magic) }) else {
            throw reader.error("expected the magic ACCELPRG: this is not a compiled program", at: 0)
        }
        let major = try reader.integer(UInt16.self)
        _ = try reader.integer(UInt16.self)
        guard major == PackageFormat.major else {
            throw reader.error("compiled programs of version \(major) need another accelc than \(Tool.version)", at: 8)
        }
        guard try reader.integer(UInt32.self) == 0 else {
            throw reader.error("reserved bytes are not zero", at: 12)
        }
        strings = try list("strings") { try $0.reader.string("string") }
    }

    private mutating func list<Element>(
        _ what: String, minimumBytes: Int = 1, _ element: (inout ProgramDecoder) throws -> Element
    ) throws -> [Element] {
        let count = try reader.count(what, minimumBytes: minimumBytes)
        var elements: [Element] = []
        elements.reserveCapacity(count)
        for _ in 0..<count { elements.append(try element(&self)) }
        return elements
    }

    private mutating func string(_ what: String) throws -> String {
        let start = reader.position
        let index = try reader.variable(atMost: Int.max, "string of \(what)")
        guard index < strings.count else {
            throw reader.error("\(what): there is no string \(index), only \(strings.count)", at: start)
        }
        return strings[index]
    }

    private mutating func shape() throws -> Shape {
        let start = reader.position
        let rank = try reader.variable(atMost: PackageFormat.maximumRank, "rank")
        var shape: Shape = []
        for _ in 0..<rank {
            shape.dimensions.append(try reader.variable(atMost: PackageFormat.maximumElements, "extent"))
        }
        guard PackageFormat.fits(shape) else { throw reader.error("shape \(shape) is too large", at: start) }
        return shape
    }

    private mutating func elementType() throws -> ElementType {
        let start = reader.position
        let code = try reader.integer(UInt8.self)
        guard let type = ElementType(code: code) else {
            throw reader.error("\(code) is not an element type", at: start)
        }
        return type
    }

    private mutating func section() throws -> Section {
        Section(
            blob: try reader.variable(atMost: 1 << 20, "blob"),
            offset: try reader.variable(atMost: PackageFormat.maximumBlobBytes, "offset in the blob"),
            byteCount: try reader.variable(atMost: PackageFormat.maximumElements, "bytes of the section"),
            digest: Digest(bytes: try reader.bytes(32).withBytes { Array($0) }))
    }

    private mutating func weight() throws -> WeightRecord {
        WeightRecord(
            name: try string("weight's name"), elementType: try elementType(), shape: try shape(),
            codec: try string("codec"),
            sections: try list("sections of a weight") { try $0.reader.variable(atMost: Int.max, "section") })
    }

    private mutating func function() throws -> CompiledFunction {
        let (name, part) = (try string("function's name"), try string("part"))
        var numbers: [String: Int] = [:]
        for _ in 0..<(try reader.count("shapes", minimumBytes: 2)) {
            let start = reader.position
            let dimension = try string("dimension")
            guard numbers[dimension] == nil else {
                throw reader.error("dimension \(dimension) is bound twice", at: start)
            }
            numbers[dimension] = try reader.variable(atMost: 1 << 40, "dimension \(dimension)")
        }
        let inputs = try ports("inputs")
        let states = try states()
        let arenaBytes = try reader.variable(atMost: PackageFormat.maximumArenaBytes, "arena")
        let calls = try list("calls", minimumBytes: 5) { try $0.call() }
        let outputs = try list("outputs", minimumBytes: 6) {
            CompiledFunction.Output(name: try $0.string("output's name"), operand: try $0.operand())
        }
        return CompiledFunction(
            name: name, part: part, bindings: ShapeBindings(numbers), inputs: inputs, outputs: outputs, states: states,
            arenaBytes: arenaBytes, calls: calls)
    }

    private mutating func ports(_ what: String) throws -> [CompiledFunction.Port] {
        try list(what, minimumBytes: 3) {
            CompiledFunction.Port(
                name: try $0.string("name of \(what)"), elementType: try $0.elementType(), shape: try $0.shape())
        }
    }

    private mutating func states() throws -> [CompiledFunction.State] {
        try ports("states").map {
            CompiledFunction.State(
                name: $0.name, elementType: $0.elementType, shape: $0.shape,
                initial: Double(bitPattern: try reader.integer(UInt64.self)))
        }
    }

    private mutating func call() throws -> KernelCall {
        let start = reader.position
        let (name, label) = (try string("operator"), try string("label"))
        var attributes = Attributes()
        for _ in 0..<(try reader.count("attributes", minimumBytes: 2)) {
            let attribute = try string("attribute")
            guard attributes[attribute] == nil else {
                throw reader.error("\(name) \"\(label)\": attribute \(attribute) is given twice", at: start)
            }
            attributes[attribute] = try attributeValue()
        }
        let operation: any Operator
        do {
            operation = try Operators.make(name, attributes)
        } catch let error as OperatorError {
            throw reader.error("\(name) \"\(label)\": \(error.description)", at: start)
        }
        return KernelCall(
            operation: operation, label: label, inputs: try list("inputs of a call") { try $0.operand() },
            outputs: try list("outputs of a call") { try $0.operand() })
    }

    private mutating func attributeValue() throws -> AttributeValue {
        let start = reader.position
        switch try reader.integer(UInt8.self) {
        case 0: return .integer(try signed())
        case 1: return .number(Double(bitPattern: try reader.integer(UInt64.self)))
        case 2: return .word(try string("word"))
        case 3:
            let flag = try reader.integer(UInt8.self)
            guard flag <= 1 else { throw reader.error("a flag is \(flag)", at: start) }
            return .flag(flag == 1)
        case 4: return .integers(try list("integers") { try $0.signed() })
        case 5: return .dimensions(try list("dimensions") { .fixed(try $0.signed()) })
        case let kind: throw reader.error("\(kind) is not a kind of attribute", at: start)
        }
    }

    /// Integers of attributes stay where sums of some cannot overflow.
    private mutating func signed() throws -> Int {
        let start = reader.position
        let number = try reader.zigzag("integer")
        guard let integer = Int(exactly: number), integer.magnitude <= PackageFormat.maximumElements else {
            throw reader.error("\(number) is too large for an attribute", at: start)
        }
        return integer
    }

    private mutating func operand() throws -> Operand {
        let start = reader.position
        let kind = try reader.integer(UInt8.self)
        let place = try reader.variable(atMost: PackageFormat.maximumArenaBytes, "place")
        let storage: Operand.Storage
        switch kind {
        case 0: storage = .input(place)
        case 1: storage = .weight(place)
        case 2: storage = .arena(place)
        case 3: storage = .state(place)
        default: throw reader.error("\(kind) is not a kind of storage", at: start)
        }
        let (type, shape) = (try elementType(), try shape())
        var layout = StridedLayout(shape: shape)
        switch try reader.integer(UInt8.self) {
        case 0: break
        case 1:
            layout.offset = try reader.variable(atMost: PackageFormat.maximumElements, "offset of a layout")
            for axis in 0..<shape.rank {
                layout.strides[axis] = try reader.variable(atMost: PackageFormat.maximumElements, "stride")
            }
        case let kind: throw reader.error("\(kind) is not a kind of layout", at: start)
        }
        return Operand(storage: storage, elementType: type, layout: layout)
    }
}
