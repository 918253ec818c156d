package import Accel
import AccelByteIO

/// A struct of the caller's whose first field is its size: no byte beyond that is read or written.
struct CStruct<Content: BitwiseCopyable> {
    /// No struct of any version is longer; a larger size is that of a struct that was never set.
    private static var longest: Int { 4096 }
    private let start: UnsafeMutableRawPointer
    private let size: Int

    /// A struct to change some fields of. nil if its size includes no field.
    init?(changing pointer: UnsafeMutablePointer<Content>) {
        start = UnsafeMutableRawPointer(pointer)
        size = min(Int(start.loadUnaligned(as: UInt32.self)), MemoryLayout<Content>.size)
        guard size > MemoryLayout<UInt32>.size else { return nil }
    }

    /// A struct to fill in; its known fields are zero from now on. nil if its size includes no field.
    init?(filling pointer: UnsafeMutablePointer<Content>) {
        self.init(changing: pointer)
        let header = MemoryLayout<UInt32>.size
        (start + header).initializeMemory(as: UInt8.self, repeating: 0, count: size - header)
    }

    /// Sets a field, if the struct has it.
    mutating func set<Value: BitwiseCopyable>(_ field: KeyPath<Content, Value>, _ value: Value) {
        guard let offset = MemoryLayout<Content>.offset(of: field), offset + MemoryLayout<Value>.size <= size else {
            return
        }
        withUnsafeBytes(of: value) {
            UnsafeMutableRawBufferPointer(start: start + offset, count: $0.count).copyMemory(from: $0)
        }
    }

    /// Sets a field of characters, cut where a character begins, with a final zero.
    mutating func set<Characters: BitwiseCopyable>(_ field: KeyPath<Content, Characters>, _ text: String) {
        guard let offset = MemoryLayout<Content>.offset(of: field), offset < size else { return }
        let room = min(MemoryLayout<Characters>.size, size - offset) - 1
        var bytes = Array(text.utf8.prefix(max(room, 0)))
        if bytes.count < text.utf8.count {
            // Bytes of the form 10xxxxxx continue a character.
            while let last = bytes.last, last & 0xC0 == 0x80 { bytes.removeLast() }
            if let last = bytes.last, last & 0x80 != 0 { bytes.removeLast() }
        }
        for (index, byte) in bytes.enumerated() {
            start.storeBytes(of: byte, toByteOffset: offset + index, as: UInt8.self)
        }
    }

    /// The caller's struct with zeros for fields that it has not.
    /// - Throws: `AccelError` (invalid) for a size that is none, (unsupported) if a field that this version does not know is not zero.
    static func read(_ pointer: UnsafePointer<Content>, _ name: String) throws(AccelError) -> Content {
        let start = UnsafeRawPointer(pointer)
        let size = Int(start.loadUnaligned(as: UInt32.self))
        guard MemoryLayout<UInt64>.size...longest ~= size else {
            throw AccelError(
                .invalid, expected: "the size of the struct", found: "\(size)", at: "\(name).struct_size",
                hint: "set it to sizeof(\(name))")
        }
        let known = min(size, MemoryLayout<Content>.size)
        for offset in known..<size where start.load(fromByteOffset: offset, as: UInt8.self) != 0 {
            throw AccelError(
                .unsupported, "byte \(offset) is of a field that this version of the library does not know", at: name,
                hint: "leave it zero, or use a newer library")
        }
        return withUnsafeTemporaryAllocation(
            byteCount: MemoryLayout<Content>.size, alignment: MemoryLayout<Content>.alignment
        ) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            memory.copyMemory(from: UnsafeRawBufferPointer(start: start, count: known))
            return memory.load(as: Content.self)
        }
    }
}

/// A struct that may be NULL.
package func optional<Content: BitwiseCopyable>(
    _ pointer: UnsafePointer<Content>?, _ name: String
) throws(AccelError) -> Content? {
    guard let pointer else { return nil }
    return try CStruct.read(pointer, name)
}

/// A pointer that must not be NULL.
func required<Pointer>(_ pointer: Pointer?, _ name: String) throws(AccelError) -> Pointer {
    guard let pointer else { throw AccelError(.invalid, expected: "a pointer", found: "NULL", at: "argument \(name)") }
    return pointer
}

/// A string that must not be NULL.
package func string(_ pointer: UnsafePointer<CChar>?, _ name: String) throws(AccelError) -> String {
    guard let text = String(validatingCString: try required(pointer, name)) else {
        throw AccelError(.invalid, expected: "UTF-8", found: "other bytes", at: "argument \(name)")
    }
    return text
}

/// Elements of an array of the caller's, copied.
func array<Element: BitwiseCopyable>(
    _ pointer: UnsafePointer<Element>?, _ count: Int, _ name: String
) throws(AccelError) -> [Element] {
    guard count != 0 else { return [] }
    let start = UnsafeRawPointer(try required(pointer, name))
    let (bytes, overflow) = count.multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
    guard count > 0, !overflow, bytes <= 1 << 32 else {
        throw AccelError(
            .invalid, expected: "a number of elements", found: "\(UInt(bitPattern: count))", at: "argument \(name)")
    }
    return (0..<count).map { start.loadUnaligned(fromByteOffset: $0 * MemoryLayout<Element>.stride, as: Element.self) }
}

/// A number from 0, which stands for a default, to a limit.
package func number<Number: BinaryInteger>(
    _ value: Number, atMost most: Number, _ name: String
) throws(AccelError) -> Number? {
    guard value >= 0, value <= most else {
        throw AccelError(.invalid, expected: "a number from 0 to \(most)", found: "\(value)", at: name)
    }
    return value == 0 ? nil : value
}

/// A time limit of the caller's; nil for none. More than a century is none.
func timeLimit(_ milliseconds: Int64, _ name: String) throws(AccelError) -> Duration? {
    guard milliseconds >= 0 else {
        throw AccelError(.invalid, expected: "milliseconds", found: "\(milliseconds)", at: name)
    }
    return 1..<1 << 42 ~= milliseconds ? .milliseconds(milliseconds) : nil
}
