import AccelByteIO

/// The header of a safetensors file. `init` checks every name, type, shape and range: the tensors' bytes are
/// consecutive, and fill the file from the end of the header to its end.
struct SafetensorsHeader {
    struct Entry {
        var name: String
        var elementType: ElementType
        var shape: Shape
        /// The first byte, relative to `dataStart`.
        var begin: Int
        var end: Int
    }

    /// The tensors, in the order of their bytes.
    private(set) var entries: [Entry] = []
    private(set) var metadata: [(key: String, value: String)] = []
    /// The file up to the tensors' bytes, in private memory, because a mapped file may change while it is parsed.
    let bytes: ByteView
    /// The offset of the tensors' bytes in the file.
    var dataStart: Int { bytes.count }

    init(parsing file: ByteView, file name: String, limits: SafetensorsFile.Limits) throws(FormatError) {
        let length = try Self.headerLength(of: file, name, limits)
        bytes = ByteView(file[0..<8 + length].withBytes { [UInt8]($0) })
        guard try Self.headerLength(of: bytes, name, limits) == length else {
            throw FormatError(file: name, location: .offset(0), reason: "changed while it was being read")
        }
        var entries: [Entry] = []
        var metadata: [(key: String, value: String)] = []
        try bytes[8..<bytes.count].withBytes { (bytes) throws(FormatError) in
            var scanner = try JSONScanner(
                bytes, file: name, origin: 8, limits: JSON.Limits(bytes: limits.headerBytes, depth: 8, values: Int.max))
            guard bytes.first == UInt8(ascii: "{") else {
                throw scanner.error("the header has to start with '{'", at: 0)
            }
            try scanner.object { (scanner, key, position) throws(FormatError) in
                if key == "__metadata__" {
                    metadata = try Self.metadata(&scanner)
                } else {
                    guard entries.count < limits.tensors else {
                        throw scanner.error("more than \(limits.tensors) tensors", at: position)
                    }
                    if let flaw = Self.flaw(ofName: key, limits) { throw scanner.error(flaw, at: position) }
                    entries.append(try Self.entry(named: key, &scanner, name, limits))
                }
            }
            try scanner.finish()
        }
        try Self.sortAndCheckLayout(&entries, dataBytes: file.count - dataStart, dataStart: dataStart, name)
        self.entries = entries
        self.metadata = metadata
    }

    private static func headerLength(
        of file: ByteView, _ name: String, _ limits: SafetensorsFile.Limits
    ) throws(FormatError) -> Int {
        func rejected(_ reason: String) -> FormatError {
            foreignFormat(file, named: name) ?? FormatError(file: name, location: .offset(0), reason: reason)
        }
        guard file.count >= 8 else {
            throw rejected(
                file.count == 0
                    ? "the file is empty (it has 0 bytes), expected safetensors"
                    : "the file has \(file.count) bytes, but a safetensors file starts with 8 bytes that hold the length of its header"
            )
        }
        let length = file.withBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
        guard length >= 2 else { throw rejected("the header has \(length) bytes, expected at least \"{}\"") }
        guard length <= UInt64(limits.headerBytes) else {
            throw rejected(
                "this is not a valid safetensors file: its first 8 bytes announce a header of \(length) bytes, and at "
                    + "most \(limits.headerBytes) are read")
        }
        guard length <= UInt64(file.count - 8) else {
            throw rejected("its first 8 bytes announce a header of \(length) bytes, but only \(file.count - 8) follow")
        }
        return Int(length)
    }

    /// Returns why a tensor cannot have this name; nil if it can.
    static func flaw(ofName name: String, _ limits: SafetensorsFile.Limits) -> String? {
        if name.isEmpty { return "a tensor has an empty name" }
        if name.utf8.count > limits.nameBytes {
            return "the tensor name \(quoted(name)) has \(name.utf8.count) bytes; at most \(limits.nameBytes) are read"
        }
        if name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            return "the tensor name \(quoted(name)) has a control character"
        }
        return nil
    }

    private static func metadata(_ scanner: inout JSONScanner) throws(FormatError) -> [(key: String, value: String)] {
        var metadata: [(key: String, value: String)] = []
        try scanner.object { (scanner, key, _) throws(FormatError) in
            metadata.append((key, try scanner.string("a string as metadata")))
        }
        return metadata
    }

    private static func entry(
        named name: String, _ scanner: inout JSONScanner, _ file: String, _ limits: SafetensorsFile.Limits
    ) throws(FormatError) -> Entry {
        var type: ElementType?
        var dimensions: [Int]?
        var offsets: [Int]?
        func rejected(_ reason: String) -> FormatError {
            FormatError(file: file, location: .tensor(name, index: nil), reason: reason)
        }
        try scanner.object { (scanner, key, position) throws(FormatError) in
            switch key {
            case "dtype":
                let word = try scanner.string("an element type")
                guard let known = ElementType(rawValue: word) else {
                    throw rejected(
                        "element type \(quoted(word)) is not supported; known are "
                            + ElementType.allCases.map(\.rawValue).joined(separator: " "))
                }
                type = known
            case "shape":
                dimensions = try naturals(&scanner, atMost: limits.rank, "dimensions", rejected)
            case "data_offsets":
                offsets = try naturals(&scanner, atMost: 2, "data_offsets", rejected)
            default:
                throw scanner.error("unknown field \(quoted(key)) of tensor \(quoted(name))", at: position)
            }
        }
        guard let type else { throw rejected("the header gives no dtype") }
        guard let dimensions else { throw rejected("the header gives no shape") }
        guard let offsets else { throw rejected("the header gives no data_offsets") }
        guard offsets.count == 2 else { throw rejected("data_offsets has \(offsets.count) numbers, expected 2") }
        guard offsets[0] <= offsets[1] else {
            throw rejected("its data_offsets [\(offsets[0]),\(offsets[1])] end before they begin")
        }
        let shape = Shape(dimensions)
        guard let (bytes, overflow) = shape.checkedCount?.multipliedReportingOverflow(by: type.byteCount), !overflow
        else { throw rejected("the size of shape \(shape) of \(type.rawValue) overflows") }
        guard bytes == offsets[1] - offsets[0] else {
            throw rejected(
                "shape \(shape) of \(type.rawValue) takes \(bytes) bytes, but data_offsets "
                    + "[\(offsets[0]),\(offsets[1])] hold \(offsets[1] - offsets[0])")
        }
        return Entry(name: name, elementType: type, shape: shape, begin: offsets[0], end: offsets[1])
    }

    private static func naturals(
        _ scanner: inout JSONScanner, atMost limit: Int, _ what: String, _ rejected: (String) -> FormatError
    ) throws(FormatError) -> [Int] {
        var numbers: [Int] = []
        try scanner.array { (scanner) throws(FormatError) in
            guard numbers.count < limit else { throw rejected("more than \(limit) \(what)") }
            _ = try scanner.peek()
            let start = scanner.position
            let number = try scanner.integer()
            guard let natural = Int(exactly: number), natural >= 0 else {
                throw scanner.error("\(what) may not hold \(number)", at: start)
            }
            numbers.append(natural)
        }
        return numbers
    }

    private static func sortAndCheckLayout(
        _ entries: inout [Entry], dataBytes: Int, dataStart: Int, _ file: String
    ) throws(FormatError) {
        // Empty tensors come before the tensor that starts at the same byte.
        let order = entries.indices.sorted { left, right in
            (entries[left].begin, entries[left].end, left) < (entries[right].begin, entries[right].end, right)
        }
        entries = order.map { entries[$0] }
        var position = 0
        var last: String?
        for entry in entries {
            func rejected(_ reason: String) -> FormatError {
                FormatError(file: file, location: .tensor(entry.name, index: nil), reason: reason)
            }
            guard entry.end <= dataBytes else {
                throw rejected(
                    "its data ends at byte \(entry.end) after the header, where the file has \(dataBytes): it is truncated, or of another header"
                )
            }
            guard entry.begin <= position else {
                throw rejected(
                    "its data starts at byte \(entry.begin) after the header, and bytes \(position)..<\(entry.begin) "
                        + "belong to no tensor")
            }
            guard entry.begin == position else {
                throw rejected("its data overlaps that of tensor \(quoted(last ?? ""))")
            }
            position = entry.end
            last = entry.name
        }
        guard position == dataBytes else {
            throw FormatError(
                file: file, location: .offset(UInt64(dataStart + position)),
                reason: "\(dataBytes - position) bytes at the end of the file belong to no tensor")
        }
    }
}
