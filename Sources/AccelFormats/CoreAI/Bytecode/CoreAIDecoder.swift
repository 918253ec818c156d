import AccelByteIO

/// Reads a module from MLIR's bytecode. Everything is checked against the bytes that are there, so that memory stays
/// proportional to the file.
struct CoreAIDecoder {
    private typealias Section = CoreAIBytecode.Section

    private let file: String
    private var sections: [Section: (bytes: ByteView, origin: Int)] = [:]
    private var names: [String] = []
    private var properties: [(ByteView, Int)] = []
    private var tables: CoreAITableReader
    private var depth = 0
    private static let deepest = 16

    /// - Throws: `FormatError` with the offset of what is corrupt or not supported.
    static func module(_ bytes: ByteView, file: String) throws -> CoreAIModule {
        var decoder = try CoreAIDecoder(bytes, file: file)
        let resources = try decoder.resources()
        let root = try decoder.root()
        return CoreAIModule(root: root, resources: resources)
    }

    private init(_ bytes: ByteView, file: String) throws {
        self.file = file
        var reader = ByteReader(bytes, file: file)
        guard try reader.bytes(4).withBytes({ $0.elementsEqual(CoreAIBytecode.magic) }) else {
            throw reader.error("expected MLIR's bytecode", at: 0)
        }
        let version = try reader.number("the version of the bytecode")
        guard version == CoreAIBytecode.version else {
            throw reader.error("bytecode of version \(version); accelc reads version \(CoreAIBytecode.version)")
        }
        while try reader.integer(UInt8.self) != 0 {}
        while !reader.isAtEnd {
            let id = try reader.integer(UInt8.self)
            let length = try reader.number("the length of a section", atMost: Int.max)
            guard let section = Section(rawValue: id & 0x7F), sections[section] == nil else {
                throw reader.error("section \(id & 0x7F) is unknown, or there twice")
            }
            if id & 0x80 != 0 {
                let alignment = try reader.number("an alignment", atMost: CoreAIBytecode.alignment)
                while alignment > 0, reader.position % alignment != 0 { _ = try reader.integer(UInt8.self) }
            }
            let origin = reader.position
            sections[section] = (try reader.bytes(length), origin)
        }
        tables = CoreAITableReader(attributes: [], types: [], strings: [], file: file)
        let strings = try strings()
        let (attributes, types) = try entries()
        tables = CoreAITableReader(attributes: attributes, types: types, strings: strings, file: file)
        names = try dialects()
        properties = try propertyList()
    }

    private func reader(_ section: Section) throws -> ByteReader {
        guard let found = sections[section] else {
            throw FormatError(file: file, reason: "it has no section \(section.rawValue) (\(section))")
        }
        return ByteReader(found.bytes, file: file, origin: found.origin)
    }

    // MARK: - Tables

    private func strings() throws -> [String] {
        var reader = try reader(.strings)
        let count = try reader.itemCount("strings")
        let lengths = try (0..<count).map { _ in try reader.number("the length of a string") }
        return try lengths.reversed().map { length in
            guard length > 0 else { throw reader.error("a string without an end") }
            let text = try reader.text(length - 1)
            guard try reader.integer(UInt8.self) == 0 else { throw reader.error("a string without an end") }
            return text
        }
    }

    private func dialects() throws -> [String] {
        var reader = try reader(.dialects)
        let count = try reader.number("the number of dialects")
        let (name, hasVersion) = try reader.flagged("a dialect's name")
        guard count == 1, hasVersion, try tables.string(name, reader) == CoreAIBytecode.dialect else {
            throw reader.error("expected the dialect \(CoreAIBytecode.dialect) alone, with a version")
        }
        guard try reader.integer(UInt8.self) == Section.dialectVersions.rawValue else {
            throw reader.error("expected the version of the dialect")
        }
        var version = ByteReader(
            try reader.bytes(try reader.itemCount("bytes")), file: file)
        guard try version.number("the version of the dialect") == CoreAIBytecode.dialectVersion, version.isAtEnd else {
            throw reader.error("the dialect has another version than \(CoreAIBytecode.dialectVersion)")
        }
        let total = try reader.itemCount("operations")
        if total == 0, reader.isAtEnd { return [] }
        guard try reader.number("a dialect's number") == 0, try reader.number("a count") == total else {
            throw reader.error("expected the names of \(total) operations of one dialect")
        }
        return try (0..<total).map { _ in
            let (name, _) = try reader.flagged("an operation's name")
            return try tables.string(name, reader)
        }
    }

    private func entries() throws -> (attributes: [(ByteView, Int)], types: [(ByteView, Int)]) {
        var (offsets, content) = (try reader(.offsets), try reader(.entries))
        let origin = sections[.entries]?.origin ?? 0
        let counts = [try offsets.itemCount("attributes"), try offsets.itemCount("types")]
        let groups = try counts.map { count in
            guard count > 0 else { return [(ByteView, Int)]() }
            guard try offsets.number("a dialect's number") == 0, try offsets.number("a count") == count else {
                throw offsets.error("expected \(count) entries of one dialect")
            }
            return try (0..<count).map { _ in
                let (size, isCustom) = try offsets.flagged("the size of an entry")
                guard isCustom else { throw offsets.error("an entry as text, which accelc does not read") }
                let start = origin + content.position
                return (try content.bytes(size), start)
            }
        }
        try content.requireEnd(of: "the table of entries")
        return (groups[0], groups[1])
    }

    private func propertyList() throws -> [(ByteView, Int)] {
        guard sections[.properties] != nil else { return [] }
        var reader = try reader(.properties)
        let origin = sections[.properties]?.origin ?? 0
        return try (0..<reader.itemCount("properties")).map { _ in
            let size = try reader.itemCount("bytes")
            let start = origin + reader.position
            return (try reader.bytes(size), start)
        }
    }

    private func resources() throws -> [CoreAIResource] {
        guard sections[.resourceTable] != nil else { return [] }
        var (table, content) = (try reader(.resourceTable), try reader(.resources))
        guard try table.number("the number of external resources") == 0,
            try table.number("a dialect's number") == 0
        else { throw table.error("expected the resources of one dialect") }
        var keys: Set<String> = []
        return try (0..<table.itemCount("resources")).map { _ in
            let key = try tables.string(&table)
            let size = try table.number("the size of a resource", atMost: Int.max)
            guard try table.integer(UInt8.self) == 0 else { throw table.error("a resource that is no blob") }
            guard keys.insert(key).inserted else { throw table.error("two resources are called \(quoted(key))") }
            let start = content.position
            let alignment = try content.number("an alignment", atMost: 1 << 16)
            let count = try content.number("the length of a resource", atMost: content.remaining)
            while alignment > 0, content.position % alignment != 0 { _ = try content.integer(UInt8.self) }
            let bytes = try content.bytes(count)
            guard content.position - start == size else {
                throw table.error("resource \(quoted(key)) has \(content.position - start) bytes, expected \(size)")
            }
            return CoreAIResource(key: key, content: bytes)
        }
    }

    // MARK: - Operations

    private mutating func root() throws -> CoreAIOperation {
        var reader = try reader(.operations)
        let (count, hasArguments) = try reader.flagged("the number of operations")
        guard count == 1, !hasArguments else { throw reader.error("expected one operation") }
        var values = 0
        let root = try operation(&reader, &values)
        try reader.requireEnd(of: "the section of operations")
        return root
    }

    /// - Parameter values: the number of values that the block has so far.
    private mutating func operation(_ reader: inout ByteReader, _ values: inout Int) throws -> CoreAIOperation {
        typealias Part = CoreAIBytecode.Part
        let start = reader.position
        let index = try reader.number("an operation's name")
        guard names.indices.contains(index) else {
            throw reader.error("there is no name \(index) among \(names.count)", at: start)
        }
        var operation = CoreAIOperation(name: names[index])
        let mask = try reader.integer(UInt8.self)
        guard mask & ~(Part.results | Part.operands | Part.regions | Part.properties) == 0 else {
            throw reader.error("\(operation.name) has parts that accelc does not read (mask \(mask))")
        }
        _ = try tables.attribute(try reader.number("a location"), reader)
        if mask & Part.properties != 0 { operation.properties = try propertyValues(operation.name, &reader) }
        if mask & Part.results != 0 {
            operation.results = try (0..<reader.itemCount("results")).map { _ in
                try tables.type(try reader.number("a type's number"), reader)
            }
        }
        if mask & Part.operands != 0 {
            operation.operands = try (0..<reader.itemCount("operands")).map { _ in
                let value = try reader.number("an operand")
                guard value < values else {
                    throw reader.error("\(operation.name) reads value \(value) before it is made")
                }
                return value
            }
        }
        if mask & Part.regions != 0 {
            let (count, isIsolated) = try reader.flagged("the number of regions")
            guard isIsolated, count <= reader.remaining else {
                throw reader.error("\(operation.name): a region that reads values around it")
            }
            operation.regions = try (0..<count).map { _ in try region(&reader) }
        }
        values += operation.results.count
        return operation
    }

    private func propertyIndex(_ reader: inout ByteReader) throws -> (ByteView, Int) {
        let index = try reader.number("a property's number")
        guard properties.indices.contains(index) else {
            throw reader.error("there are no properties \(index) among \(properties.count)")
        }
        return properties[index]
    }

    private mutating func propertyValues(
        _ name: String, _ reader: inout ByteReader
    ) throws -> [CoreAIOperation.Property] {
        guard let kinds = CoreAIOperation.properties[name] else {
            throw reader.error("the properties of \(name) are not known")
        }
        let (bytes, origin) = try propertyIndex(&reader)
        var inner = ByteReader(bytes, file: file, origin: origin)
        let values = try kinds.map { isOptional -> CoreAIOperation.Property in
            let number = try inner.number("an attribute's number")
            guard isOptional else { return .required(try tables.attribute(number, inner)) }
            guard number & 1 == 1 else { return .optional(nil) }
            return .optional(try tables.attribute(number >> 1, inner))
        }
        try inner.requireEnd(of: "the properties of \(name)")
        return values
    }

    private mutating func region(_ reader: inout ByteReader) throws -> CoreAIBlock {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.deepest else { throw reader.error("regions are nested too deeply") }
        guard try reader.integer(UInt8.self) == Section.operations.rawValue else {
            throw reader.error("expected a region")
        }
        let length = try reader.number("the length of a region", atMost: reader.remaining)
        let end = reader.position + length
        guard try reader.number("the number of blocks") == 1 else { throw reader.error("expected one block") }
        let count = try reader.number("the number of values")
        let (operations, hasArguments) = try reader.flagged("the number of operations")
        guard operations <= reader.remaining else { throw reader.error("more operations than bytes") }
        var block = CoreAIBlock()
        if hasArguments {
            block.arguments = try (0..<reader.itemCount("arguments")).map { _ in
                let (type, hasLocation) = try reader.flagged("a type's number")
                if hasLocation { _ = try tables.attribute(try reader.number("a location"), reader) }
                return try tables.type(type, reader)
            }
            guard try reader.integer(UInt8.self) == 0 else { throw reader.error("orders of uses are not supported") }
        }
        var values = block.arguments.count
        for _ in 0..<operations { block.operations.append(try operation(&reader, &values)) }
        guard values == count else { throw reader.error("a block has \(values) values, expected \(count)") }
        guard reader.position == end else { throw reader.error("a region ends elsewhere than its length says") }
        return block
    }
}
