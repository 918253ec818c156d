import AccelByteIO

extension CoreMLModel {
    /// Reads `model.mlmodel`.
    /// - Throws: `FormatError` for anything but an ML Program that accelc can read.
    init(_ bytes: ByteView, file: String) throws {
        var reader = ProtobufReader(bytes, file: file)
        var decoder = MILDecoder()
        var (version, program): (Int64, MILProgram?) = (0, nil)
        var description = ModelDescription()
        var other: String?
        try reader.forEach { field in
            switch field.number {
            case 1: version = try field.integer()
            case 2: description = try ModelDescription(field, &decoder)
            case 502: program = try decoder.program(field)
            case 200...202: other = "a pipeline"
            case 303, 403, 500: other = "a neural network of layers"
            case 300...3000: other = "of another kind (field \(field.number))"
            default: break
            }
        }
        func error(_ reason: String) -> FormatError { FormatError(file: file, reason: reason) }
        guard let program else {
            throw error(
                "the model is \(other ?? "empty"); accelc reads ML Programs, which coremltools writes by default")
        }
        guard (1...1000).contains(version) else { throw error("\(version) is no specification version") }
        guard let first = program.functions.first else { throw error("the program has no functions") }
        var interfaces = description.functions
        if interfaces.isEmpty {
            guard program.functions.count == 1 else {
                throw error("the program has \(program.functions.count) functions, but none is described")
            }
            interfaces = [
                Interface(
                    function: first.name, inputs: description.main.inputs, outputs: description.main.outputs,
                    states: description.main.states)
            ]
        } else {
            guard let index = interfaces.firstIndex(where: { $0.function == description.defaultFunction }) else {
                throw error(
                    "describes the functions \(interfaces.map(\.function)), but \(quoted(description.defaultFunction)) as the default one"
                )
            }
            interfaces.insert(interfaces.remove(at: index), at: 0)
        }
        guard Set(interfaces.map(\.function)) == Set(program.functions.map(\.name)),
            interfaces.count == program.functions.count
        else {
            throw error(
                "describes the functions \(interfaces.map(\.function)), but has \(program.functions.map(\.name))")
        }
        self.init(
            specificationVersion: Int(version), metadata: description.metadata, interfaces: interfaces,
            program: program)
    }
}

/// A `ModelDescription`.
private struct ModelDescription {
    var main = CoreMLModel.Interface(function: "", inputs: [], outputs: [])
    var functions: [CoreMLModel.Interface] = []
    var defaultFunction = ""
    var metadata = CoreMLModel.Metadata()

    init() {}

    init(_ field: ProtobufReader.Field, _ decoder: inout MILDecoder) throws {
        try decoder.forEach(in: field) { decoder, part in
            switch part.number {
            case 1: main.inputs.append(try decoder.feature(part))
            case 10: main.outputs.append(try decoder.feature(part))
            case 13: main.states.append(try decoder.feature(part))
            case 20: functions.append(try decoder.functionDescription(part))
            case 21: defaultFunction = try part.string()
            case 100: metadata = try decoder.metadata(part)
            default: break
            }
        }
    }
}

extension MILDecoder {
    fileprivate mutating func functionDescription(_ field: ProtobufReader.Field) throws -> CoreMLModel.Interface {
        var interface = CoreMLModel.Interface(function: "", inputs: [], outputs: [])
        try forEach(in: field) { decoder, part in
            switch part.number {
            case 1: interface.function = try part.string()
            case 2: interface.inputs.append(try decoder.feature(part))
            case 3: interface.outputs.append(try decoder.feature(part))
            case 6: interface.states.append(try decoder.feature(part))
            default: break
            }
        }
        return interface
    }

    fileprivate mutating func metadata(_ field: ProtobufReader.Field) throws -> CoreMLModel.Metadata {
        var metadata = CoreMLModel.Metadata()
        try forEach(in: field) { decoder, part in
            switch part.number {
            case 1: metadata.description = try part.string()
            case 2: metadata.version = try part.string()
            case 3: metadata.author = try part.string()
            case 4: metadata.license = try part.string()
            case 100:
                var entry = MILNamed("", "")
                try decoder.forEach(in: part) { _, part in
                    if part.number == 1 { entry.name = try part.string() }
                    if part.number == 2 { entry.content = try part.string() }
                }
                metadata.other.append(entry)
            default: break
            }
        }
        metadata.other.sort { $0.name < $1.name }
        return metadata
    }

    fileprivate mutating func feature(_ field: ProtobufReader.Field) throws -> CoreMLModel.Feature {
        var (name, description, array): (String, String, ArrayType?) = ("", "", nil)
        try forEach(in: field) { decoder, part in
            switch part.number {
            case 1: name = try part.string()
            case 2: description = try part.string()
            case 3: array = try decoder.featureType(part)
            default: break
            }
        }
        guard let array else {
            throw field.error("\"\(name)\" is an image, sequence or dictionary; accelc reads multi-arrays")
        }
        return CoreMLModel.Feature(
            name, MILTensorType(array.dataType, array.shape), description: description,
            enumeratedShapes: array.enumeratedShapes, shapeRanges: array.shapeRanges)
    }

    /// Reads a feature type; nil for anything but a multi-array or a state of one.
    private mutating func featureType(_ field: ProtobufReader.Field) throws -> ArrayType? {
        var array: ArrayType?
        try forEach(in: field) { decoder, part in
            if part.number == 5 { array = try ArrayType(part, &decoder) }
            guard part.number == 8 else { return }
            try decoder.forEach(in: part) { decoder, part in
                if part.number == 1 { array = try ArrayType(part, &decoder) }
            }
        }
        return array
    }
}

/// An `ArrayFeatureType`.
private struct ArrayType {
    var shape: [Int] = []
    private(set) var dataType = MILDataType.float32
    var enumeratedShapes: [[Int]] = []
    var shapeRanges: [ClosedRange<Int>] = []

    init(_ field: ProtobufReader.Field, _ decoder: inout MILDecoder) throws {
        var known: MILDataType?
        try decoder.forEach(in: field) { decoder, part in
            switch part.number {
            case 1: shape += try Self.sizes(part)
            case 2:
                guard let type = MILDataType(arrayType: try part.integer()) else {
                    throw part.error("unknown element type of a multi-array")
                }
                known = type
            case 21:
                try decoder.forEach(in: part) { decoder, part in
                    var shape: [Int] = []
                    try decoder.forEach(in: part) { _, part in
                        if part.number == 1 { shape += try Self.sizes(part) }
                    }
                    enumeratedShapes.append(shape)
                }
            case 31:
                try decoder.forEach(in: part) { decoder, part in
                    if part.number == 1 { shapeRanges.append(try Self.range(part, &decoder)) }
                }
            default: break
            }
        }
        guard let known else { throw field.error("a multi-array has no element type") }
        dataType = known
        let ranks = enumeratedShapes.map(\.count) + (shapeRanges.isEmpty ? [] : [shapeRanges.count])
        guard shape.count <= MILDecoder.maximumRank, ranks.allSatisfy({ $0 == shape.count || shape.isEmpty }) else {
            throw field.error("the shapes of a multi-array differ in rank")
        }
    }

    private static func sizes(_ field: ProtobufReader.Field) throws -> [Int] {
        try field.integers().map { number in
            guard let size = Int(exactly: number), (0...1 << 48).contains(size) else {
                throw field.error("no multi-array has a size of \(number)")
            }
            return size
        }
    }

    private static func range(_ field: ProtobufReader.Field, _ decoder: inout MILDecoder) throws -> ClosedRange<Int> {
        var (lower, upper) = (Int64(0), Int64(0))
        try decoder.forEach(in: field) { _, part in
            if part.number == 1 { lower = try part.integer() }
            if part.number == 2 { upper = try part.integer() }
        }
        let last = upper < 0 ? Int.max : Int(clamping: upper)
        guard lower >= 0, lower <= last else { throw field.error("\(lower) to \(upper) is no range of sizes") }
        return Int(clamping: lower)...last
    }
}
