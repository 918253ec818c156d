/// Strings and arrays that C may read as long as this value lives.
package final class LentMemory: Sendable {
    /// Addresses.
    private let blocks = Locked<[UInt]>([])

    /// No memory yet.
    package init() {}

    deinit { for block in blocks.withLock({ $0 }) { UnsafeMutableRawPointer(bitPattern: block)?.deallocate() } }

    /// A copy of a text in UTF-8, with a zero at its end.
    package func string(_ text: String) -> UnsafePointer<CChar> { array(Array(text.utf8CString)) }

    /// A copy of an array. It is not NULL for an empty one either.
    package func array<Element: BitwiseCopyable>(_ elements: [Element]) -> UnsafePointer<Element> {
        let count = elements.count * MemoryLayout<Element>.stride
        let block = UnsafeMutableRawPointer.allocate(byteCount: max(count, 1), alignment: 16)
        elements.withUnsafeBytes { if let start = $0.baseAddress { block.copyMemory(from: start, byteCount: count) } }
        let address = UInt(bitPattern: block)
        blocks.withLock { $0.append(address) }
        return UnsafePointer(block.bindMemory(to: Element.self, capacity: max(elements.count, 1)))
    }
}
