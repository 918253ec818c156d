/// The texts of tokens on their way through decoders, in one buffer.
struct TokenList: Sendable {
    var bytes: [UInt8] = []
    /// Where each token ends.
    var ends: [Int] = []

    var count: Int { ends.count }

    func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

    /// Calls `body` with the bytes of a token.
    func withToken<Result>(_ index: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range(index)])) }
    }

    func token(_ index: Int) -> [UInt8] { Array(bytes[range(index)]) }

    mutating func append(_ token: some Sequence<UInt8>) {
        bytes.append(contentsOf: token)
        ends.append(bytes.count)
    }

    /// Replaces each token; nil removes it.
    func mapped(_ body: (_ index: Int, _ token: [UInt8]) -> [UInt8]?) -> TokenList {
        var result = TokenList()
        result.bytes.reserveCapacity(bytes.count)
        result.ends.reserveCapacity(ends.count)
        for index in ends.indices {
            if let token = body(index, token(index)) { result.append(token) }
        }
        return result
    }
}

extension Array where Element == UInt8 {
    /// Replaces each occurrence of a text that is not empty.
    func replacing(_ old: [UInt8], with new: [UInt8]) -> [UInt8] {
        guard let first = old.first, contains(first) else { return self }
        var result: [UInt8] = []
        var index = 0
        while index < count {
            if self[index] == first, index + old.count <= count, self[index..<index + old.count].elementsEqual(old) {
                result += new
                index += old.count
            } else {
                result.append(self[index])
                index += 1
            }
        }
        return result
    }
}
