/// Reads little-endian binary data from start to end. Every method throws a `FormatError`, with the offset in the file,
/// instead of reading past the end.
public struct ByteReader: Sendable {
    private let view: ByteView
    private let file: String
    private let origin: Int
    /// The offset of the next byte, from the start of the view.
    public private(set) var position: Int

    /// Creates a reader.
    /// - Parameter origin: the offset of `view` in `file`, for errors.
    /// - Parameter position: the offset to start at, in `0...view.count`.
    public init(_ view: ByteView, file: String, origin: Int = 0, position: Int = 0) {
        self.view = view
        self.file = file
        self.origin = origin
        self.position = min(max(position, 0), view.count)
    }

    /// The number of bytes that are left.
    public var remaining: Int { view.count - position }
    /// All bytes are read.
    public var isAtEnd: Bool { remaining == 0 }

    /// Returns an error at `position`, by default that of the next byte.
    public func error(_ reason: String, at position: Int? = nil) -> FormatError {
        FormatError(file: file, location: .offset(UInt64(origin + (position ?? self.position))), reason: reason)
    }

    /// Reads a little-endian integer.
    public mutating func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ type: Integer.Type = Integer.self
    ) throws(FormatError) -> Integer {
        let part = try bytes(MemoryLayout<Integer>.size)
        return part.withBytes { Integer(littleEndian: $0.loadUnaligned(as: Integer.self)) }
    }

    /// Reads an unsigned 64-bit number in a range: a count, an offset, or a size.
    public mutating func natural(
        _ what: String, in range: ClosedRange<Int> = 0...Int.max
    ) throws(FormatError) -> Int {
        let start = position
        let number = try integer(UInt64.self)
        guard let natural = Int(exactly: number), range.contains(natural) else {
            throw error("\(what) is \(number), expected \(range.lowerBound)...\(range.upperBound)", at: start)
        }
        return natural
    }

    /// Reads `count` bytes, without copying them.
    public mutating func bytes(_ count: Int) throws(FormatError) -> ByteView {
        guard count >= 0, count <= remaining else {
            throw error("\(count) bytes are expected here, but \(remaining) are left")
        }
        defer { position += count }
        return view[position..<position + count]
    }

    /// Reads `count` bytes of UTF-8.
    public mutating func text(_ count: Int) throws(FormatError) -> String {
        let start = position
        let part = try bytes(count)
        guard let text = part.withBytes({ String(validating: $0, as: UTF8.self) }) else {
            throw error("\(count) bytes of text are not valid UTF-8", at: start)
        }
        return text
    }
}
