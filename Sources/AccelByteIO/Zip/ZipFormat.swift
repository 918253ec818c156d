/// Constants that writer and reader of zip archives share (APPNOTE 6.3.10).
enum ZipFormat {
    static let localSignature: UInt32 = 0x0403_4B50
    static let descriptorSignature: UInt32 = 0x0807_4B50
    static let centralSignature: UInt32 = 0x0201_4B50
    static let endSignature: UInt32 = 0x0605_4B50
    static let end64Signature: UInt32 = 0x0606_4B50
    static let locatorSignature: UInt32 = 0x0706_4B50

    static let endBytes = 22
    static let end64Bytes = 56
    static let locatorBytes = 20

    static let zip64Extra: UInt16 = 1
    /// Zeros that align the content, as written by Android's zipalign.
    static let alignmentExtra: UInt16 = 0xD935
    /// Another name of the entry, which some tools prefer to the name itself.
    static let unicodePathExtra: UInt16 = 0x7075

    /// The target of a link, by PKWARE (after 12 bytes of times and numbers) and by early versions of Info-ZIP.
    static let unixExtra: UInt16 = 0x000D
    static let oldUnixExtra: UInt16 = 0x756E

    static let descriptorFlag: UInt16 = 1 << 3
    static let utf8Flag: UInt16 = 1 << 11
    /// Speed hints of deflate.
    static let hintFlags: UInt16 = 3 << 1

    static let stored: UInt16 = 0
    static let deflated: UInt16 = 8

    /// Returns why an entry may not have this name; nil if it may. Names have to stay inside the target folder on every
    /// system.
    static func flaw(ofName name: String) -> String? {
        if name.utf8.count > 1024 { return "a name of \(name.utf8.count) bytes; at most 1024 are read" }
        if name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            return "the name \(quoted(name)) has a control character"
        }
        if name.contains("\\") { return "the name \(quoted(name)) has a backslash" }
        if name.contains(":") { return "the name \(quoted(name)) has a colon" }
        if name.hasPrefix("/") { return "the name \(quoted(name)) is absolute" }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        if parts.contains(where: { ["", ".", ".."].contains($0) }) {
            return "the name \(quoted(name)) has an empty part, '.' or '..'"
        }
        if parts.contains(where: { $0.utf8.count > 255 }) {
            return "a part of the name \(quoted(name)) has more than 255 bytes"
        }
        return nil
    }
}
