import AccelByteIO
import AccelTensors

/// A file of whisper.cpp (`ggml-*.bin`): the sizes of a model, mel filters, tokens and tensors, without alignment.
struct WhisperFile: Sendable {
    /// The numbers at the start of a file.
    struct Sizes: Equatable, Sendable {
        var vocabulary = 0
        var audio = Stack()
        var text = Stack()
        var mels = 0
        /// ggml's number of the type of matrices.
        var fileType = 0
    }

    /// The encoder or the decoder.
    struct Stack: Equatable, Sendable {
        var positions = 0
        var width = 0
        var heads = 0
        var layers = 0
    }

    /// The magnitudes of a spectrum's bins in mel bands, row by row.
    struct Filters: Equatable, Sendable {
        var bands = 0
        var bins = 0
        var values: [Float] = []
    }

    let sizes: Sizes
    let filters: Filters
    /// The bytes of tokens by number. Numbers beyond are time stamps and special tokens, which whisper.cpp names itself.
    let tokens: [[UInt8]]
    /// Shapes have the slowest dimension first; files have the opposite order.
    let tensors: [GGUFTensor]

    /// "ggml" as a little-endian number.
    static let magic: [UInt8] = Array("lmgg".utf8)
    /// ggml's version of the layout of blocks, which files state times 1000 beside the type.
    static let blockVersion = 2
    private static let versionFactor = 1000

    /// ggml's numbers of file types, by the type of the matrices.
    static let fileTypes: [String: Int] = [
        "F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q2_K": 10, "Q3_K": 11, "Q4_K": 12,
        "Q5_K": 13, "Q6_K": 14,
    ]
    /// The type of the matrices.
    var type: GGMLType? { Self.type(of: sizes.fileType) }

    private static func type(of number: Int) -> GGMLType? {
        GGMLType.all.first { fileTypes[$0.name] == number % versionFactor }
    }

    /// Returns the number of a file whose matrices have this type; nil if whisper.cpp has none.
    static func fileType(of type: GGMLType) -> Int? {
        fileTypes[type.name].map { type.elements == 1 ? $0 : $0 + blockVersion * versionFactor }
    }
}

// MARK: - Reading

extension WhisperFile {
    /// Parses a file. Tensors are views of its bytes.
    /// - Parameter file: its name in errors.
    /// - Throws: `FormatError` naming the offset or tensor.
    init(parsing bytes: ByteView, file: String) throws(FormatError) {
        var reader = ByteReader(bytes, file: file)
        guard reader.remaining >= 48, try reader.bytes(4).withBytes({ Array($0) }) == Self.magic else {
            throw reader.error("a file of whisper.cpp starts with \"lmgg\" and 11 numbers", at: 0)
        }
        sizes = try Sizes(parsing: &reader)
        let start = reader.position
        let bands = try reader.count("the number of mel bands", in: 1...1 << 12)
        let bins = try reader.count("the number of bins", in: 1...1 << 16)
        guard bands == sizes.mels else {
            throw reader.error("the filters have \(bands) bands, but the model has \(sizes.mels)", at: start)
        }
        let values = try reader.bytes(bands * bins * 4).withBytes { bytes in
            (0..<bands * bins).map { Float(bitPattern: bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self)) }
        }
        filters = Filters(bands: bands, bins: bins, values: values)
        // The shortest token takes the 4 bytes of its length.
        let count = try reader.count("the number of tokens", in: 0...min(sizes.vocabulary, reader.remaining / 4))
        var tokens: [[UInt8]] = []
        tokens.reserveCapacity(count)
        for _ in 0..<count {
            let length = try reader.count("the length of a token", in: 0...max(reader.remaining - 4, 0))
            tokens.append(try reader.bytes(length).withBytes { Array($0) })
        }
        self.tokens = tokens
        var (tensors, names) = ([GGUFTensor](), Set<String>())
        while !reader.isAtEnd {
            let start = reader.position
            let tensor = try Self.tensor(&reader, file)
            guard names.insert(tensor.name).inserted else {
                throw reader.error("the tensor \(quoted(tensor.name)) occurs twice", at: start)
            }
            tensors.append(tensor)
        }
        self.tensors = tensors
    }

    private static func tensor(_ reader: inout ByteReader, _ file: String) throws(FormatError) -> GGUFTensor {
        let rank = try reader.count("the number of dimensions", in: 1...4)
        let length = try reader.count("the length of a tensor's name", in: 1...255)
        let place = reader.position
        let number = try reader.count("the type", in: 0...Int(Int32.max))
        guard let type = GGMLType.numbered(UInt32(number)) else {
            throw reader.error("there is no type \(number) of tensors", at: place)
        }
        var dimensions: [Int] = []
        for _ in 0..<rank { dimensions.insert(try reader.count("a dimension", in: 1...1 << 30), at: 0) }
        let name = try reader.text(length)
        guard !name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw reader.error("the tensor's name \(quoted(name)) has a control character", at: place + 4)
        }
        let shape = Shape(dimensions)
        guard let count = type.byteCount(shape) else {
            throw FormatError(
                file: file, location: .tensor(name, index: nil),
                reason: "the shape \(shape) overflows, or its rows are not whole blocks of \(type.elements)")
        }
        guard count <= reader.remaining else {
            throw FormatError(
                file: file, location: .tensor(name, index: nil),
                reason: "its \(count) bytes start at byte \(reader.position), but the file has "
                    + "\(reader.position + reader.remaining)")
        }
        return GGUFTensor(name: name, type: type, shape: shape, bytes: try reader.bytes(count))
    }
}

extension WhisperFile.Sizes {
    fileprivate init(parsing reader: inout ByteReader) throws(FormatError) {
        vocabulary = try reader.count("the vocabulary", in: 1...1 << 24)
        audio = try WhisperFile.Stack(parsing: &reader)
        text = try WhisperFile.Stack(parsing: &reader)
        mels = try reader.count("the number of mel bands", in: 1...1 << 12)
        let start = reader.position
        fileType = try reader.count("the type of the file", in: 0...Int(Int32.max))
        guard let type = WhisperFile.type(of: fileType), WhisperFile.fileType(of: type) == fileType else {
            throw reader.error(
                "\(fileType) is no type of whisper.cpp's files whose blocks have version \(WhisperFile.blockVersion)",
                at: start)
        }
    }

    /// The numbers in the order of files.
    fileprivate var numbers: [Int] {
        [vocabulary] + [audio, text].flatMap { [$0.positions, $0.width, $0.heads, $0.layers] } + [mels, fileType]
    }
}

extension WhisperFile.Stack {
    fileprivate init(parsing reader: inout ByteReader) throws(FormatError) {
        positions = try reader.count("the number of positions", in: 1...1 << 20)
        width = try reader.count("the width", in: 1...1 << 16)
        heads = try reader.count("the number of heads", in: 1...1 << 12)
        layers = try reader.count("the number of layers", in: 1...1000)
    }
}

extension ByteReader {
    /// Reads a number of 32 bits in a range.
    fileprivate mutating func count(_ what: String, in range: ClosedRange<Int>) throws(FormatError) -> Int {
        let start = position
        let number = Int(try integer(Int32.self))
        guard range.contains(number) else {
            throw error("\(what) is \(number), expected \(range.lowerBound)...\(range.upperBound)", at: start)
        }
        return number
    }
}

// MARK: - Writing

extension WhisperFile {
    /// Writes the file into a folder that the caller publishes.
    /// - Returns: the digest of the file, for a list of the folder's files.
    func write(to path: String) throws -> Digest? {
        var file = try AtomicFile(replacing: path, as: .internal, isSynced: false, isLarge: true, isListed: true)
        try file.write(ByteView(start))
        for tensor in tensors {
            var writer = ByteWriter()
            for number in [tensor.shape.rank, tensor.name.utf8.count, Int(tensor.type.id)] {
                writer.append(Int32(clamping: number))
            }
            for dimension in tensor.shape.dimensions.reversed() { writer.append(Int32(clamping: dimension)) }
            writer.append(tensor.name)
            try file.write(ByteView(writer.bytes))
            try file.write(tensor.bytes)
        }
        return try file.commitListed()
    }

    /// The bytes before the first tensor.
    var start: [UInt8] {
        var writer = ByteWriter()
        writer.append(Self.magic)
        for number in sizes.numbers + [filters.bands, filters.bins] { writer.append(Int32(clamping: number)) }
        for value in filters.values { writer.append(value.bitPattern) }
        writer.append(Int32(clamping: tokens.count))
        for token in tokens {
            writer.append(Int32(clamping: token.count))
            writer.append(token)
        }
        return writer.bytes
    }
}
