extension ByteReader {
    /// Reads an unsigned LEB128 number. Only the shortest encoding is accepted, so that each value has one encoding.
    /// - Parameter what: the name of the number in errors.
    public mutating func variable(_ what: String) throws(FormatError) -> UInt64 {
        let start = position
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte: UInt8 = try integer()
            guard shift < 63 || byte <= 1, byte != 0 || shift == 0 else {
                throw error("\(what): not the shortest form of a 64-bit number", at: start)
            }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        throw error("\(what): a number of more than 64 bits", at: start)
    }

    /// Reads an unsigned number from 0 to `limit`.
    public mutating func variable(atMost limit: Int, _ what: String) throws(FormatError) -> Int {
        let start = position
        let number = try variable(what)
        guard let integer = Int(exactly: number), integer <= limit else {
            throw error("\(what) is \(number), but may be at most \(limit)", at: start)
        }
        return integer
    }

    /// Reads a count of items that take at least `minimumBytes` each. A count that exceeds the remaining bytes is
    /// rejected, so that a file cannot request more memory than its own size.
    public mutating func count(_ what: String, minimumBytes: Int = 1) throws(FormatError) -> Int {
        let start = position
        let number = try variable(what)
        guard let count = Int(exactly: number), count <= remaining / max(minimumBytes, 1) else {
            throw error("\(what): \(number) do not fit in the \(remaining) bytes that are left", at: start)
        }
        return count
    }

    /// Reads a signed number in zigzag encoding: 0, 1, 2, 3, ... stand for 0, -1, 1, -2, ...
    public mutating func zigzag(_ what: String) throws(FormatError) -> Int64 {
        let number = try variable(what)
        return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }

    /// Reads a length as a `variable`, then as many bytes of UTF-8.
    public mutating func string(_ what: String) throws(FormatError) -> String {
        try text(try count("length of \(what)"))
    }

    /// Checks that no bytes are left.
    public func finish() throws(FormatError) {
        guard isAtEnd else { throw error("\(remaining) bytes after the end") }
    }
}
