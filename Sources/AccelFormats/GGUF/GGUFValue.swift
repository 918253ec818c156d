import AccelByteIO

/// A value of a GGUF file's metadata.
enum GGUFValue: Equatable, Sendable {
    case uint8(UInt8)
    case int8(Int8)
    case uint16(UInt16)
    case int16(Int16)
    case uint32(UInt32)
    case int32(Int32)
    case float32(Float)
    case bool(Bool)
    case string(String)
    case array(Kind, [GGUFValue])
    case uint64(UInt64)
    case int64(Int64)
    case float64(Double)

    /// The types by their numbers in files.
    enum Kind: UInt32, Sendable {
        case uint8, int8, uint16, int16, uint32, int32, float32, bool, string, array, uint64, int64, float64

        /// The fewest bytes that a value takes in a file.
        fileprivate var leastBytes: Int {
            switch self {
            case .uint8, .int8, .bool: 1
            case .uint16, .int16: 2
            case .uint32, .int32, .float32: 4
            case .string, .uint64, .int64, .float64: 8
            case .array: 12
            }
        }
    }

    var kind: Kind {
        switch self {
        case .uint8: .uint8
        case .int8: .int8
        case .uint16: .uint16
        case .int16: .int16
        case .uint32: .uint32
        case .int32: .int32
        case .float32: .float32
        case .bool: .bool
        case .string: .string
        case .array: .array
        case .uint64: .uint64
        case .int64: .int64
        case .float64: .float64
        }
    }

    /// The value as JSON. Numbers of float32 keep their shortest text.
    var json: JSON {
        switch self {
        case .uint8(let value): .integer(Int64(value))
        case .int8(let value): .integer(Int64(value))
        case .uint16(let value): .integer(Int64(value))
        case .int16(let value): .integer(Int64(value))
        case .uint32(let value): .integer(Int64(value))
        case .int32(let value): .integer(Int64(value))
        case .uint64(let value): Int64(exactly: value).map { .integer($0) } ?? .number(Double(value))
        case .int64(let value): .integer(value)
        case .float32(let value): .number(Double("\(value)") ?? Double(value))
        case .float64(let value): .number(value)
        case .bool(let value): .bool(value)
        case .string(let value): .string(value)
        case .array(_, let values): .array(values.map(\.json))
        }
    }

    /// An array of texts.
    static func strings(_ values: some Sequence<String>) -> GGUFValue { .array(.string, values.map { .string($0) }) }
    /// An array of numbers.
    static func floats(_ values: some Sequence<Float>) -> GGUFValue { .array(.float32, values.map { .float32($0) }) }
    /// An array of integers.
    static func integers(_ values: some Sequence<Int32>) -> GGUFValue { .array(.int32, values.map { .int32($0) }) }
}

// MARK: - Reading

extension GGUFValue {
    /// Reads a value with its type before it.
    /// - Parameter budget: how many elements of arrays may still be read.
    /// - Throws: `FormatError` for an unknown type, a nested array, and for counts beyond the file or the budget.
    init(parsing reader: inout ByteReader, budget: inout Int) throws(FormatError) {
        let kind = try Self.kind(&reader)
        guard kind == .array else {
            try self.init(kind, &reader)
            return
        }
        let element = try Self.kind(&reader)
        guard element != .array else { throw reader.error("arrays of arrays are not supported") }
        let most = min(budget, (reader.remaining - 8) / element.leastBytes)
        let count = try reader.natural("the number of elements", in: 0...max(most, 0))
        budget -= count
        var values: [GGUFValue] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(try GGUFValue(element, &reader)) }
        self = .array(element, values)
    }

    private static func kind(_ reader: inout ByteReader) throws(FormatError) -> Kind {
        let start = reader.position
        let number = try reader.integer(UInt32.self)
        guard let kind = Kind(rawValue: number) else {
            throw reader.error("there is no type \(number) of metadata", at: start)
        }
        return kind
    }

    private init(_ kind: Kind, _ reader: inout ByteReader) throws(FormatError) {
        switch kind {
        case .uint8: self = .uint8(try reader.integer())
        case .int8: self = .int8(try reader.integer())
        case .uint16: self = .uint16(try reader.integer())
        case .int16: self = .int16(try reader.integer())
        case .uint32: self = .uint32(try reader.integer())
        case .int32: self = .int32(try reader.integer())
        case .float32: self = .float32(Float(bitPattern: try reader.integer()))
        case .uint64: self = .uint64(try reader.integer())
        case .int64: self = .int64(try reader.integer())
        case .float64: self = .float64(Double(bitPattern: try reader.integer()))
        case .string: self = .string(try reader.gguf("a text", atMost: Int.max))
        case .bool:
            let byte = try reader.integer(UInt8.self)
            guard byte <= 1 else {
                throw reader.error("a boolean is \(byte), expected 0 or 1", at: reader.position - 1)
            }
            self = .bool(byte == 1)
        case .array: throw reader.error("arrays of arrays are not supported")
        }
    }
}

extension ByteReader {
    /// Reads a text with its length before it.
    /// - Parameter limit: the largest length in bytes.
    mutating func gguf(_ what: String, atMost limit: Int) throws(FormatError) -> String {
        let count = try natural("the length of \(what)", in: 0...max(min(limit, remaining - 8), 0))
        return try text(count)
    }
}

// MARK: - Writing

extension ByteWriter {
    /// Appends a text with its length before it.
    mutating func append(gguf text: String) {
        append(UInt64(text.utf8.count))
        append(text)
    }

    /// Appends a value with its type before it.
    mutating func append(_ value: GGUFValue) {
        append(value.kind.rawValue)
        append(content: value)
    }

    private mutating func append(content value: GGUFValue) {
        switch value {
        case .uint8(let value): append(value)
        case .int8(let value): append(value)
        case .uint16(let value): append(value)
        case .int16(let value): append(value)
        case .uint32(let value): append(value)
        case .int32(let value): append(value)
        case .uint64(let value): append(value)
        case .int64(let value): append(value)
        case .float32(let value): append(value.bitPattern)
        case .float64(let value): append(value.bitPattern)
        case .bool(let value): append(UInt8(value ? 1 : 0))
        case .string(let value): append(gguf: value)
        case .array(let kind, let values):
            append(kind.rawValue)
            append(UInt64(values.count))
            for value in values { append(content: value) }
        }
    }
}
