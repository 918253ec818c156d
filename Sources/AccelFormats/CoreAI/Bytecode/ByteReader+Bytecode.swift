import AccelByteIO

/// The numbers of MLIR's bytecode.
extension ByteReader {
    /// Reads an unsigned number.
    mutating func variable() throws -> UInt64 {
        let first = try integer(UInt8.self)
        guard first != 0 else { return try integer(UInt64.self) }
        let more = first.trailingZeroBitCount
        var word = UInt64(first)
        for index in 0..<more { word |= UInt64(try integer(UInt8.self)) << UInt64(8 * (index + 1)) }
        return word >> UInt64(more + 1)
    }

    /// Reads a number of at most `limit`.
    mutating func number(_ what: String, atMost limit: Int = Int(Int32.max)) throws -> Int {
        let start = position
        let value = try variable()
        guard let number = Int(exactly: value), number <= limit else {
            throw error("\(what) is \(value), expected \(limit) at most", at: start)
        }
        return number
    }

    /// Reads the number of items that follow, each of a byte at least.
    mutating func itemCount(_ what: String) throws -> Int { try number("the number of \(what)", atMost: remaining) }

    mutating func signed() throws -> Int64 {
        let value = try variable()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// Reads a number with a bit at its low end.
    mutating func flagged(_ what: String) throws -> (number: Int, flag: Bool) {
        let value = try number(what)
        return (value >> 1, value & 1 == 1)
    }

    /// Fails if there are bytes left.
    func requireEnd(of what: String) throws {
        guard isAtEnd else { throw error("\(what) ends here, but \(remaining) bytes follow") }
    }
}
