import AccelByteIO
import AccelTensors

/// Writes graph.bin or weights.bin: a header, the strings in the order of first use, and a body that refers to them.
struct TableWriter {
    private var strings: [String] = []
    private var indices: [String: Int] = [:]
    private(set) var body = ByteWriter()

    mutating func integer(_ number: Int) { body.variable(UInt64(number.magnitude)) }
    mutating func signed(_ number: Int) { body.zigzag(Int64(number)) }
    mutating func double(_ number: Double) { body.append(number.bitPattern) }
    mutating func byte(_ byte: UInt8) { body.append(byte) }
    mutating func bytes(_ bytes: [UInt8]) { body.append(bytes) }

    mutating func string(_ text: String) {
        let index = indices[text] ?? strings.count
        if index == strings.count {
            indices[text] = index
            strings.append(text)
        }
        integer(index)
    }

    mutating func type(_ elementType: ElementType, _ shape: Shape) {
        byte(elementType.code)
        integer(shape.rank)
        for size in shape.dimensions { integer(size) }
    }

    mutating func list<Element>(
        _ elements: [Element], _ write: (inout TableWriter, Element) throws -> Void
    ) rethrows {
        integer(elements.count)
        for element in elements { try write(&self, element) }
    }

    func file(magic: String) -> ByteView {
        var file = ByteWriter()
        file.append(magic)
        file.append(UInt16(PackageFormat.major))
        file.append(UInt16(PackageFormat.tableMinor))
        file.append(UInt32(0))
        file.variable(UInt64(strings.count))
        for string in strings { file.string(string) }
        file.append(body.bytes)
        return file.view
    }
}

/// Reads the format of `TableWriter`; of each content it accepts one encoding only.
struct TableReader {
    private var reader: ByteReader
    private var strings: [String] = []
    /// The number of strings in use so far.
    private var used = 0

    /// Reads the header and the strings.
    /// - Throws: `FormatError` for another magic or version.
    init(_ bytes: ByteView, file: String, magic: String) throws {
        reader = ByteReader(bytes, file: file)
        let found = try reader.bytes(magic.utf8.count)
        guard found.withBytes({ $0.elementsEqual(magic.utf8) }) else {
            throw error("expected the magic \(magic)", at: 0)
        }
        let (major, minor) = (try reader.integer(UInt16.self), try reader.integer(UInt16.self))
        guard major == PackageFormat.major, minor == PackageFormat.tableMinor else {
            throw error(
                "is of format \(major).\(minor), and accelc \(Tool.version) reads "
                    + "\(PackageFormat.major).\(PackageFormat.tableMinor)", at: 8)
        }
        guard try reader.integer(UInt32.self) == 0 else { throw error("reserved bytes are not zero", at: 12) }
        strings = try list("strings") { try $0.reader.string("string") }
        guard Set(strings).count == strings.count else { throw error("a string is listed twice") }
    }

    var position: Int { reader.position }

    func error(_ reason: String, at position: Int? = nil) -> FormatError { reader.error(reason, at: position) }

    mutating func list<Element>(
        _ what: String, minimumBytes: Int = 1, _ element: (inout TableReader) throws -> Element
    ) throws -> [Element] {
        let count = try count(what, minimumBytes: minimumBytes)
        var elements: [Element] = []
        elements.reserveCapacity(count)
        for _ in 0..<count { elements.append(try element(&self)) }
        return elements
    }

    mutating func count(_ what: String, minimumBytes: Int = 1) throws -> Int {
        try reader.count(what, minimumBytes: minimumBytes)
    }

    mutating func integer(_ what: String, atMost limit: Int = PackageFormat.maximumElements) throws -> Int {
        try reader.variable(atMost: limit, what)
    }

    /// Reads an integer of an attribute, limited so that sums of a few cannot overflow.
    mutating func signed(_ what: String) throws -> Int {
        let start = position
        let number = try reader.zigzag(what)
        guard let integer = Int(exactly: number), integer.magnitude <= PackageFormat.maximumElements else {
            throw error("\(what): \(number) is too large", at: start)
        }
        return integer
    }

    mutating func double() throws -> Double { Double(bitPattern: try reader.integer(UInt64.self)) }

    mutating func byte(_ what: String, atMost limit: UInt8) throws -> UInt8 {
        let start = position
        let byte = try reader.integer(UInt8.self)
        guard byte <= limit else { throw error("\(what): \(byte) is not one", at: start) }
        return byte
    }

    mutating func digest() throws -> Digest { Digest(bytes: try reader.bytes(32).withBytes { Array($0) }) }

    mutating func string(_ what: String) throws -> String {
        let start = position
        let index = try reader.variable(atMost: Int.max, "string of \(what)")
        guard index < strings.count, index <= used else {
            throw error("\(what): string \(index) of \(strings.count), of which \(used) are in use", at: start)
        }
        used = max(used, index + 1)
        return strings[index]
    }

    mutating func type() throws -> (ElementType, Shape) {
        let start = position
        let code = try reader.integer(UInt8.self)
        guard let elementType = ElementType(code: code) else {
            throw error("\(code) is not an element type", at: start)
        }
        let rank = try reader.variable(atMost: PackageFormat.maximumRank, "rank")
        var shape: Shape = []
        for _ in 0..<rank {
            shape.dimensions.append(try reader.variable(atMost: PackageFormat.maximumElements, "size"))
        }
        guard PackageFormat.fits(shape) else { throw error("shape \(shape) is too large", at: start) }
        return (elementType, shape)
    }

    /// Checks that all strings are in use, and that no bytes are left.
    func finish() throws {
        guard used == strings.count else { throw error("only \(used) of \(strings.count) strings are in use") }
        try reader.finish()
    }
}
