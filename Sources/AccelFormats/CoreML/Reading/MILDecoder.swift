import AccelByteIO
import AccelTensors

/// Reads an ML Program from protocol buffers (MIL.proto). Fails for constructs that the importer does not support, such as
/// lists and nested blocks.
struct MILDecoder {
    /// The number of messages that may still be read, so that memory stays proportional to the size of the file.
    private var budget: Int
    static let maximumRank = 16

    init(budget: Int = 8 << 20) { self.budget = budget }

    /// Calls `body` for each field of a message. Every message is read by this function, which counts it.
    mutating func forEach(
        in field: ProtobufReader.Field, _ body: (inout MILDecoder, ProtobufReader.Field) throws -> Void
    ) throws {
        budget -= 1
        guard budget >= 0 else { throw field.error("the model holds too many parts") }
        var reader = try field.message()
        while let part = try reader.next() { try body(&self, part) }
    }

    mutating func program(_ field: ProtobufReader.Field) throws -> MILProgram {
        var functions: [MILFunction] = []
        var version = Int64(0)
        try forEach(in: field) { decoder, part in
            if part.number == 1 { version = try part.integer() }
            guard part.number == 2 else { return }
            let (name, content) = try decoder.entry(part)
            try decoder.requireNew(name, among: functions.map(\.name), part)
            functions.append(try decoder.function(name, content))
        }
        guard version == 1 else { throw field.error("a program of version \(version); accelc reads version 1") }
        return MILProgram(functions: functions)
    }

    /// Returns an entry of a map from strings: the key, and the field with the value.
    mutating func entry(_ field: ProtobufReader.Field) throws -> (key: String, content: ProtobufReader.Field) {
        var (key, content): (String, ProtobufReader.Field?) = ("", nil)
        try forEach(in: field) { _, part in
            if part.number == 1 { key = try part.string() }
            if part.number == 2 { content = part }
        }
        guard let content else { throw field.error("the entry \"\(key)\" has no value") }
        return (key, content)
    }

    private func requireNew(_ name: String, among names: [String], _ field: ProtobufReader.Field) throws {
        if names.contains(name) { throw field.error("\"\(name)\" is listed twice") }
    }

    private mutating func function(_ name: String, _ field: ProtobufReader.Field) throws -> MILFunction {
        var function = MILFunction(name: name, inputs: [], opset: "", operations: [], outputs: [])
        var blocks: [(opset: String, block: ProtobufReader.Field)] = []
        try forEach(in: field) { decoder, part in
            switch part.number {
            case 1: function.inputs.append(try decoder.named(part))
            case 2: function.opset = try part.string()
            case 3:
                let entry = try decoder.entry(part)
                blocks.append((entry.key, entry.content))
            default: break
            }
        }
        guard let block = blocks.first(where: { $0.opset == function.opset })?.block else {
            throw field.error("function \"\(name)\" has no operations for its set \"\(function.opset)\"")
        }
        try forEach(in: block) { decoder, part in
            switch part.number {
            case 1: throw part.error("function \"\(name)\": a function's block has no inputs of its own")
            case 2: function.outputs.append(try part.string())
            case 3: function.operations.append(try decoder.operation(part))
            default: break
            }
        }
        return function
    }

    private mutating func operation(_ field: ProtobufReader.Field) throws -> MILOperation {
        var operation = MILOperation("")
        var blocks = 0
        try forEach(in: field) { decoder, part in
            switch part.number {
            case 1: operation.type = try part.string()
            case 2:
                let (name, content) = try decoder.entry(part)
                try decoder.requireNew(name, among: operation.inputs.map(\.name), part)
                operation.inputs.append(MILNamed(name, try decoder.bindings(content)))
            case 3: operation.outputs.append(try decoder.named(part))
            case 4: blocks += 1
            case 5:
                let (name, content) = try decoder.entry(part)
                try decoder.requireNew(name, among: operation.attributes.map(\.name), part)
                operation.attributes.append(MILNamed(name, try decoder.value(content)))
            default: break
            }
        }
        guard blocks == 0 else {
            throw field.error("operation \(operation.type) has blocks of its own, which accelc does not read")
        }
        return operation
    }

    private mutating func bindings(_ field: ProtobufReader.Field) throws -> [MILBinding] {
        var bindings: [MILBinding] = []
        try forEach(in: field) { decoder, part in
            guard part.number == 1 else { return }
            var binding: MILBinding?
            try decoder.forEach(in: part) { decoder, part in
                if part.number == 1 { binding = .name(try part.string()) }
                if part.number == 2 { binding = .value(try decoder.value(part)) }
            }
            guard let binding else { throw part.error("an argument has neither name nor value") }
            bindings.append(binding)
        }
        return bindings
    }

    private mutating func named(_ field: ProtobufReader.Field) throws -> MILNamed<MILType> {
        var (name, type): (String, MILType?) = ("", nil)
        try forEach(in: field) { decoder, part in
            if part.number == 1 { name = try part.string() }
            if part.number == 2 { type = try decoder.type(part) }
        }
        guard let type else { throw field.error("value \"\(name)\" has no type") }
        return MILNamed(name, type)
    }

    mutating func type(_ field: ProtobufReader.Field) throws -> MILType {
        var type: MILType?
        try forEach(in: field) { decoder, part in
            switch part.number {
            case 1: type = .tensor(try decoder.tensorType(part))
            case 5:
                try decoder.forEach(in: part) { decoder, part in
                    guard part.number == 1 else { return }
                    type = .state(try decoder.type(part).tensor)
                }
            default: throw part.error("a list, tuple or dictionary is a type that accelc does not read")
            }
        }
        guard let type else { throw field.error("a type says nothing") }
        return type
    }

    private mutating func tensorType(_ field: ProtobufReader.Field) throws -> MILTensorType {
        var (dataType, rank, dimensions): (MILDataType?, Int64?, [Int?]) = (nil, nil, [])
        try forEach(in: field) { decoder, part in
            switch part.number {
            case 1:
                let code = try part.integer()
                dataType = MILDataType(rawValue: Int(code))
                if dataType == nil { throw part.error("accelc does not read the element type \(code)") }
            case 2: rank = try part.integer()
            case 3: dimensions.append(try decoder.dimension(part))
            default: break
            }
        }
        guard let dataType else { throw field.error("a tensor type has no element type") }
        guard dimensions.count <= Self.maximumRank, rank ?? 0 == dimensions.count else {
            throw field.error("a tensor of rank \(rank ?? 0) has \(dimensions.count) sizes")
        }
        guard Shape(dimensions.compactMap(\.self)).checkedCount.map({ $0 < 1 << 48 }) ?? false else {
            throw field.error("no tensor has the sizes \(dimensions.map { $0 ?? -1 })")
        }
        return MILTensorType(dataType, dimensions)
    }

    private mutating func dimension(_ field: ProtobufReader.Field) throws -> Int? {
        var size: Int?
        var isUnknown = false
        try forEach(in: field) { decoder, part in
            if part.number == 2 { isUnknown = true }
            guard part.number == 1 else { return }
            size = 0
            try decoder.forEach(in: part) { _, part in
                guard part.number == 1 else { return }
                guard let number = Int(exactly: try part.integer()), (0...1 << 48).contains(number) else {
                    throw part.error("no tensor has such a size")
                }
                size = number
            }
        }
        guard isUnknown != (size != nil) else { throw field.error("a size is neither a number nor unknown") }
        return size
    }
}
