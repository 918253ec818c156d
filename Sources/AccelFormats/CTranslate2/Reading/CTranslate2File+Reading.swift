import AccelByteIO
import AccelTensors

extension CTranslate2File {
    /// Numbers beyond these are corruption: no model has as many.
    private static let (mostVariables, mostDimensions) = (1 << 20, 8)

    /// Returns whether bytes begin as a model file does.
    static func isStart(of bytes: ByteView, file: String) -> Bool {
        var reader = ByteReader(bytes, file: file)
        guard let found = try? reader.integer(UInt32.self), found == version, let name = try? text(&reader) else {
            return false
        }
        return name.hasSuffix("Spec")
    }

    /// Reads a model file.
    /// - Throws: `FormatError` with the offset of what is wrong.
    init(parsing bytes: ByteView, file: String) throws {
        var reader = ByteReader(bytes, file: file)
        let found = try reader.integer(UInt32.self)
        guard found == Self.version else {
            throw reader.error("expected version \(Self.version) of CTranslate2's container, found \(found)", at: 0)
        }
        let name = try Self.text(&reader)
        specification = (name, Int(try reader.integer(UInt32.self)))
        var variables: [Variable] = []
        var names = Set<String>()
        for _ in 0..<(try Self.count("variables", &reader)) {
            let start = reader.position
            let variable = try Self.variable(&reader, file: file)
            guard names.insert(variable.name).inserted else {
                throw reader.error("the name \(quoted(variable.name)) occurs twice", at: start)
            }
            variables.append(variable)
        }
        var aliases: [(alias: String, target: String)] = []
        for _ in 0..<(try Self.count("second names", &reader)) {
            let start = reader.position
            let (alias, target) = (try Self.text(&reader), try Self.text(&reader))
            guard names.contains(target) else {
                throw reader.error("\(quoted(alias)) stands for \(quoted(target)), which is no variable", at: start)
            }
            guard names.insert(alias).inserted else {
                throw reader.error("the name \(quoted(alias)) occurs twice", at: start)
            }
            aliases.append((alias, target))
        }
        guard reader.isAtEnd else { throw reader.error("\(reader.remaining) bytes are left after the last name") }
        (self.variables, self.aliases) = (variables, aliases)
        structure = Self.structure(of: bytes, without: variables)
    }

    /// Returns the bytes of a file without those of variables with dimensions.
    private static func structure(of bytes: ByteView, without variables: [Variable]) -> ByteView {
        var kept: [UInt8] = []
        var first = 0
        func keep(upTo end: Int) { bytes[first..<end].withBytes { kept.append(contentsOf: $0) } }
        for variable in variables where variable.shape.rank > 0 {
            keep(upTo: variable.offset)
            first = variable.offset + variable.bytes.count
        }
        keep(upTo: bytes.count)
        return ByteView(kept)
    }

    private static func variable(_ reader: inout ByteReader, file: String) throws -> Variable {
        let name = try text(&reader)
        let start = reader.position
        let rank = Int(try reader.integer(UInt8.self))
        guard rank <= mostDimensions else { throw reader.error("\(quoted(name)) has \(rank) dimensions", at: start) }
        var dimensions: [Int] = []
        for _ in 0..<rank { dimensions.append(Int(try reader.integer(UInt32.self))) }
        let place = reader.position
        let code = try reader.integer(UInt8.self)
        guard let type = ElementType(ctranslate2Code: code) else {
            throw reader.error("\(quoted(name)) has elements of the unknown type \(code)", at: place)
        }
        let count = Int(try reader.integer(UInt32.self))
        let shape = Shape(dimensions)
        guard let elements = shape.checkedCount,
            case let (bytes, overflow) = elements.multipliedReportingOverflow(by: type.byteCount),
            !overflow, bytes == count
        else {
            throw reader.error("\(quoted(name)) of \(shape) and type \(type.rawValue) has \(count) bytes", at: start)
        }
        let offset = reader.position
        return Variable(
            name: name, elementType: type, shape: shape, bytes: try reader.bytes(count), offset: offset)
    }

    private static func count(_ what: String, _ reader: inout ByteReader) throws -> Int {
        let start = reader.position
        let count = Int(try reader.integer(UInt32.self))
        guard count <= mostVariables else { throw reader.error("there are \(count) \(what)", at: start) }
        return count
    }

    private static func text(_ reader: inout ByteReader) throws -> String {
        let start = reader.position
        let count = Int(try reader.integer(UInt16.self))
        guard count > 0 else { throw reader.error("a name has no bytes", at: start) }
        let text = try reader.text(count - 1)
        guard try reader.integer(UInt8.self) == 0, !text.unicodeScalars.contains("\u{0}") else {
            throw reader.error("a name does not end with a zero", at: start)
        }
        return text
    }
}
