import AccelByteIO
import AccelTensors

extension MILDecoder {
    /// Reads a constant, and checks the number of elements.
    mutating func value(_ field: ProtobufReader.Field) throws -> MILValue {
        var (type, content): (MILTensorType?, MILValue.Content?) = (nil, nil)
        try forEach(in: field) { decoder, part in
            switch part.number {
            case 2: type = try decoder.valueType(part)
            case 3:
                try decoder.forEach(in: part) { decoder, part in
                    guard part.number == 1 else {
                        throw part.error("a list, tuple or dictionary is a value that accelc does not read")
                    }
                    content = try decoder.content(part)
                }
            case 5: content = try decoder.blob(part)
            default: break
            }
        }
        guard let type, let content else { throw field.error("a constant has no type or no elements") }
        let value = MILValue(type, Self.filled(content, for: type))
        try require(value, field)
        return value
    }

    private mutating func valueType(_ field: ProtobufReader.Field) throws -> MILTensorType {
        guard case .tensor(let type) = try type(field) else { throw field.error("a constant cannot be a state") }
        return type
    }

    private mutating func blob(_ field: ProtobufReader.Field) throws -> MILValue.Content {
        // (An offset of 0 is not written.)
        var (name, offset) = ("", Int64(0))
        try forEach(in: field) { _, part in
            if part.number == 1 { name = try part.string() }
            if part.number == 2 { offset = try part.integer() }
        }
        guard name == MILProgram.blobFileName else {
            throw field.error("the elements are in \"\(name)\"; expected \(MILProgram.blobFileName)")
        }
        guard let offset = Int(exactly: offset), offset >= 0 else {
            throw field.error("the elements lie at no offset of \(name)")
        }
        return .blob(offset: offset)
    }

    /// Reads a `TensorValue`: the elements inside of a field for their kind.
    private mutating func content(_ field: ProtobufReader.Field) throws -> MILValue.Content? {
        var content: MILValue.Content?
        try forEach(in: field) { decoder, kind in
            var numbers: [Int64] = []
            var (floats, doubles, words): ([Float], [Double], [String]) = ([], [], [])
            var bytes: [UInt8] = []
            try decoder.forEach(in: kind) { _, part in
                guard part.number == 1 else { return }
                switch kind.number {
                case 1: floats += try part.floats()
                case 2, 3, 5: numbers += try part.integers()
                case 4: words.append(try part.string())
                case 6: doubles += try part.doubles()
                default: bytes = try part.bytes().withBytes { Array($0) }
                }
            }
            switch kind.number {
            case 1: content = .floats(floats)
            case 2: content = .integers(numbers.map { Int32(truncatingIfNeeded: $0) })
            case 3: content = .flags(numbers.map { $0 != 0 })
            case 4: content = .words(words)
            case 5: content = .longs(numbers)
            case 6: content = .doubles(doubles)
            case 7: content = .bytes(bytes)
            default: throw kind.error("unknown kind of elements")
            }
        }
        return content
    }

    /// Writers leave off the last level of an empty string or list, which reads back as no elements.
    private static func filled(_ content: MILValue.Content, for type: MILTensorType) -> MILValue.Content {
        if case .words(let words) = content, words.isEmpty, type.rank == 0 { return .words([""]) }
        return content
    }

    /// Fails if the elements of a constant do not match its type.
    private func require(_ value: MILValue, _ field: ProtobufReader.Field) throws {
        guard let sizes = value.type.sizes, let count = Shape(sizes).checkedCount, count < 1 << 48 else {
            throw field.error("a constant cannot be \(value.type)")
        }
        let type = value.type.dataType
        let found: (count: Int, fits: Bool) =
            switch value.content {
            case .floats(let floats): (floats.count, type == .float32)
            case .doubles(let doubles): (doubles.count, type == .float64)
            case .integers(let integers): (integers.count, [.int32, .int16, .uint16].contains(type))
            case .longs(let longs): (longs.count, [.int64, .uint64].contains(type))
            case .flags(let flags): (flags.count, type == .bool)
            case .words(let words): (words.count, type == .string)
            case .bytes(let bytes): (bytes.count == type.byteCount(of: count) ? count : -1, type.bits != nil)
            case .blob: (count, type.bits != nil)
            }
        guard found.fits, found.count == count else {
            throw field.error("the elements of a constant are not \(value.type)")
        }
    }
}

extension MILDataType {
    /// Returns the bytes of `count` packed elements; nil for strings.
    func byteCount(of count: Int) -> Int? { bits.map { (count * $0 + 7) / 8 } }
}
