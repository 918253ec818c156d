import AccelByteIO

/// Reads attributes and types, which refer to each other by their numbers in any order.
struct CoreAITableReader {
    private enum Entry<Item> {
        case bytes(ByteView, origin: Int)
        /// While it is read, so that an entry that holds itself is found.
        case open
        /// With the number of parts, those of parts included.
        case read(Item, size: Int)
    }

    private var attributes: [Entry<CoreAIAttribute>]
    private var types: [Entry<CoreAIType>]
    private let strings: [String]
    private let file: String
    private var depth = 0
    /// Entries may share parts, so that few bytes could stand for very many.
    private static let largest = 1 << 20
    private static let deepest = 16

    init(
        attributes: [(ByteView, Int)], types: [(ByteView, Int)], strings: [String], file: String
    ) {
        self.attributes = attributes.map { .bytes($0.0, origin: $0.1) }
        self.types = types.map { .bytes($0.0, origin: $0.1) }
        (self.strings, self.file) = (strings, file)
    }

    // MARK: - By number

    mutating func attribute(_ index: Int, _ reader: ByteReader) throws -> CoreAIAttribute {
        try sizedAttribute(index, reader).attribute
    }

    mutating func type(_ index: Int, _ reader: ByteReader) throws -> CoreAIType { try sizedType(index, reader).type }

    private mutating func sizedAttribute(
        _ index: Int, _ reader: ByteReader
    ) throws -> (attribute: CoreAIAttribute, size: Int) {
        guard attributes.indices.contains(index) else {
            throw reader.error("there is no attribute \(index) among \(attributes.count)")
        }
        switch attributes[index] {
        case .read(let attribute, let size): return (attribute, size)
        case .open: throw reader.error("attribute \(index) holds itself")
        case .bytes(let bytes, let origin):
            attributes[index] = .open
            var inner = ByteReader(bytes, file: file, origin: origin)
            var size = 1
            let attribute = try nested(reader) { try $0.read(&inner, &size) as CoreAIAttribute }
            try inner.requireEnd(of: "attribute \(index)")
            guard size <= Self.largest else { throw inner.error("attribute \(index) has too many parts") }
            attributes[index] = .read(attribute, size: size)
            return (attribute, size)
        }
    }

    private mutating func sizedType(_ index: Int, _ reader: ByteReader) throws -> (type: CoreAIType, size: Int) {
        guard types.indices.contains(index) else {
            throw reader.error("there is no type \(index) among \(types.count)")
        }
        switch types[index] {
        case .read(let type, let size): return (type, size)
        case .open: throw reader.error("type \(index) holds itself")
        case .bytes(let bytes, let origin):
            types[index] = .open
            var inner = ByteReader(bytes, file: file, origin: origin)
            var size = 1
            let type = try nested(reader) { try $0.read(&inner, &size) as CoreAIType }
            try inner.requireEnd(of: "type \(index)")
            guard size <= Self.largest else { throw inner.error("type \(index) has too many parts") }
            types[index] = .read(type, size: size)
            return (type, size)
        }
    }

    private mutating func nested<Item>(
        _ reader: ByteReader, _ body: (inout CoreAITableReader) throws -> Item
    ) throws -> Item {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.deepest else { throw reader.error("parts are nested too deeply") }
        return try body(&self)
    }

    /// Reads the number of a string.
    func string(_ reader: inout ByteReader) throws -> String {
        try string(try reader.number("a string's number"), reader)
    }

    func string(_ index: Int, _ reader: ByteReader) throws -> String {
        guard strings.indices.contains(index) else {
            throw reader.error("there is no string \(index) among \(strings.count)")
        }
        return strings[index]
    }

    // MARK: - Encodings

    private mutating func part(_ reader: inout ByteReader, _ size: inout Int) throws -> CoreAIAttribute {
        let (attribute, own) = try sizedAttribute(try reader.number("an attribute's number"), reader)
        size += own
        guard size <= Self.largest else { throw reader.error("an attribute has too many parts") }
        return attribute
    }

    private mutating func typePart(_ reader: inout ByteReader, _ size: inout Int) throws -> CoreAIType {
        let (type, own) = try sizedType(try reader.number("a type's number"), reader)
        size += own
        guard size <= Self.largest else { throw reader.error("a type has too many parts") }
        return type
    }

    private mutating func list(_ reader: inout ByteReader, _ size: inout Int) throws -> [CoreAIAttribute] {
        try (0..<reader.itemCount("attributes")).map { _ in try part(&reader, &size) }
    }

    private mutating func read(_ reader: inout ByteReader, _ size: inout Int) throws -> CoreAIAttribute {
        let code = try reader.number("the kind of an attribute")
        if let choice = CoreAIAttribute.Choice(rawValue: code) {
            return .choice(choice, try reader.number("a choice"))
        }
        switch code {
        case 1: return .string(try string(&reader))
        case 2:
            let width = try reader.number("a width", atMost: 64)
            let isUnsigned = try reader.integer(UInt8.self) != 0
            return .integer(
                width <= 8 ? Int64(try reader.integer(Int8.self)) : try reader.signed(), width: width,
                isUnsigned: isUnsigned)
        case 3:
            let width = try reader.number("a width", atMost: 64)
            guard [16, 32, 64].contains(width) else { throw reader.error("a number of \(width) bits") }
            let bits = UInt64(bitPattern: try reader.signed())
            return .float(width == 64 ? bits : bits & (1 << UInt64(width) - 1), width: width)
        case 4: return .type(try typePart(&reader, &size))
        case 5: return .array(try list(&reader, &size))
        case 6:
            let isSplat = try reader.integer(UInt8.self) != 0
            let bytes = try reader.bytes(try reader.itemCount("bytes"))
            size += bytes.count / 16
            return .elements(bytes.withBytes { Array($0) }, isSplat: isSplat)
        case 7: return .resource(try reader.number("a resource's number"))
        case 9: return .named(try string(&reader), try list(&reader, &size))
        case 14: return .symbols(try (0..<reader.itemCount("names")).map { _ in try string(&reader) })
        case 16: return .parameter(try part(&reader, &size), try typePart(&reader, &size))
        case 21: return .sparsity(nonZero: try sparsity(&reader))
        case 30: return .file(try (0..<3).map { _ in try string(&reader) })
        case 31:
            let file = try part(&reader, &size)
            return .source(file, try (0..<4).map { _ in try reader.number("a line or column") })
        case 40:
            let (source, scope) = (try part(&reader, &size), try part(&reader, &size))
            for _ in 0..<2 where try reader.number("a location's part") != 0 {
                throw reader.error("locations with further parts are not supported")
            }
            return .location(source, scope)
        case 45: return .dictionary(try list(&reader, &size))
        case 46: return .unit
        default: throw reader.error("attributes of the kind \(code) are not supported")
        }
    }

    private func sparsity(_ reader: inout ByteReader) throws -> Int {
        let numbers = try (0..<5).map { _ in try reader.number("a part of a sparse encoding") }
        guard numbers[..<4] == [0, 1, 1, 0] else { throw reader.error("a sparse encoding that is no mask") }
        return numbers[4]
    }

    private mutating func read(_ reader: inout ByteReader, _ size: inout Int) throws -> CoreAIType {
        let code = try reader.number("the kind of a type")
        if let element = CoreAIElement(rawValue: code) { return .element(element) }
        switch code {
        case 2:
            let (sizes, element) = try shape(&reader, &size)
            return .tensor(sizes, element)
        case 3:
            let (sizes, element) = try shape(&reader, &size)
            guard case .sparsity(let count) = try part(&reader, &size) else {
                throw reader.error("a tensor's encoding is no mask")
            }
            return .sparse(sizes, element, nonZero: count)
        case 30:
            let lists = try (0..<2).map { _ in
                try (0..<reader.itemCount("types")).map { _ in try typePart(&reader, &size) }
            }
            return .function(results: lists[0], operands: lists[1])
        case 31: return .handle(try typePart(&reader, &size))
        case 32: return .token
        case 33: return .symbol
        default: throw reader.error("types of the kind \(code) are not supported")
        }
    }

    /// Reads sizes, which may be free, and an element type.
    private mutating func shape(_ reader: inout ByteReader, _ size: inout Int) throws -> ([Int], CoreAIElement) {
        let sizes = try (0..<reader.itemCount("dimensions")).map { _ in
            let number = try reader.signed()
            guard number == .min || (0...1 << 48).contains(number) else {
                throw reader.error("a dimension of \(number)")
            }
            return Int(number)
        }
        guard case .element(let element) = try typePart(&reader, &size) else {
            throw reader.error("a tensor's elements have no type of elements")
        }
        return (sizes, element)
    }
}
