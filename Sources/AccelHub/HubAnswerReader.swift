/// Separates the head of an answer from its body.
package struct HubAnswerReader {
    private static let maximumHeadBytes = 1 << 18
    private var head: [UInt8] = []
    /// The final head has arrived.
    package private(set) var hasHead = false

    /// A reader at the start of an answer.
    package init() {}

    /// Passes on the parts that bytes complete.
    /// - Returns: False to end the transfer, as `receive` wants it, or because this is no answer of HTTP.
    package mutating func read(
        _ bytes: UnsafeRawBufferPointer, _ receive: (HubAnswerPart) throws -> Bool
    ) throws -> Bool {
        if hasHead || bytes.isEmpty { return try receive(.body(bytes)) }
        head += bytes
        while let end = Self.end(ofHead: head) {
            let parsed = HubAnswerHead(parsing: String(decoding: head[..<end], as: UTF8.self))
            head.removeFirst(end)
            // An interim answer, such as 103, comes before the final one.
            if let parsed, parsed.status < 200 { continue }
            hasHead = true
            guard let parsed, try receive(.head(parsed)) else { return false }
            return try head.isEmpty || head.withUnsafeBytes { try receive(.body($0)) }
        }
        return head.count <= Self.maximumHeadBytes
    }

    /// Returns the number of bytes up to and with the empty line; nil while it has not arrived.
    private static func end(ofHead bytes: [UInt8]) -> Int? {
        var previous = 0
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") {
            // An empty line has at most a carriage return.
            if index - previous <= 1, index > 0, bytes[previous..<index].allSatisfy({ $0 == UInt8(ascii: "\r") }) {
                return index + 1
            }
            previous = index + 1
        }
        return nil
    }
}
