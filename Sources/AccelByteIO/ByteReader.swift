/// Reads little-endian binary data from start to end. Nothing is read past the end: every method throws a `FormatError`
/// with the offset in the file instead.
public struct ByteReader: Sendable {
    private let view: ByteView
    private let file: String
    private let origin: Int
    /// The next byte to read, from the start of the view.
    public private(set) var position: Int

    /// - Parameter origin: where `view` starts in `file`, for the offsets in errors.
    /// - Parameter position: where to start, in `0...view.count`.
    public init(_ view: ByteView, file: String, origin: Int = 0, position: Int = 0) {
        self.view = view
        self.file = file
        self.origin = origin
        self.position = min(max(position, 0), view.count)
    }

    public var remaining: Int { view.count - position }
    public var isAtEnd: Bool { remaining == 0 }

    /// An error at `position`, by default the next byte to read.
    public func error(_ reason: String, at position: Int? = nil) -> FormatError {
        FormatError(file: file, place: .offset(UInt64(origin + (position ?? self.position))), reason: reason)
    }

    public mutating func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ type: Integer.Type = Integer.self
    ) throws(FormatError) -> Integer {
        let part = try bytes(MemoryLayout<Integer>.size)
        return part.withBytes { Integer(littleEndian: $0.loadUnaligned(as: Integer.self)) }
    }

    /// An unsigned 64-bit number in `range`: a count, an offset, a size.
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

    public mutating func bytes(_ count: Int) throws(FormatError) -> ByteView {
        guard count >= 0, count <= remaining else {
            throw error("\(count) bytes are expected here, but \(remaining) are left")
        }
        defer { position += count }
        return view[position..<position + count]
    }

    /// `count` bytes of UTF-8.
    public mutating func text(_ count: Int) throws(FormatError) -> String {
        let start = position
        let part = try bytes(count)
        guard let text = part.withBytes({ String(validating: $0, as: UTF8.self) }) else {
            throw error("\(count) bytes of text are not valid UTF-8", at: start)
        }
        return text
    }
}
