public import AccelByteIO
import AccelTensors
public import AccelWeightCompression

extension Diagnostic.Code {
    /// A file is no importance matrix.
    package static let importanceExpected: Self = "importance-expected"
}

/// An importance matrix of llama.cpp: for each weight, how large its inputs are, column by column.
///
/// A GGUF file of type `imatrix` has two tensors for each weight: `NAME.in_sum2`, sums of squares of inputs (F32, [matrices, columns]),
/// and `NAME.counts`, how many were summed (F32, [matrices, 1]). Files of before that (`.dat`) have, for each weight, a name, a number
/// of calls, and means of squares times that number, in little-endian 32-bit numbers.
public struct ImportanceMatrix: Sendable {
    /// The path of the file, or its name in errors.
    public let path: String
    /// The digest of the file.
    public let digest: Digest
    private let entries: [String: Entry]

    private struct Entry {
        var count: Int
        /// The mean squares of the inputs of all matrices of a weight, one matrix after the other.
        var meanSquares: [Float]
        var matrices = 1
    }

    private static let (sums, counts) = (".in_sum2", ".counts")
    private static let (typeKey, type) = ("general.type", "imatrix")
    /// Names in files of before GGUF; ggml's own are shorter.
    private static let nameBytes = 1 << 10

    /// Reads a file into memory.
    /// - Throws: `FormatError` if it is not an importance matrix, `RequestError` if it cannot be read.
    public init(_ path: String) throws {
        try self.init(try FileContent(path, atMost: .max).bytes, file: path)
    }

    init(_ bytes: ByteView, file: String) throws(FormatError) {
        path = file
        digest = TreeDigest.digest(of: bytes)
        let isGGUF = bytes.withBytes { $0.starts(with: GGUFFile.magic) }
        if ForeignFormat(bytes.withBytes { Array($0.prefix(64)) }) == .text {
            throw FormatError(
                file: file, reason: "this is text, expected an importance matrix", code: .importanceExpected)
        }
        entries = isGGUF ? try Self.entries(of: try GGUFFile(bytes, file: file)) : try Self.legacy(bytes, file: file)
        guard !entries.isEmpty else {
            throw FormatError(file: file, reason: "holds the importance of no weight")
        }
    }

    private static func entries(of file: GGUFFile) throws(FormatError) -> [String: Entry] {
        if let found = file[typeKey], found != .string(type) {
            throw FormatError(
                file: file.path, location: .field(typeKey), reason: "is not \"\(type)\": the file holds something else")
        }
        let tensors = Dictionary(uniqueKeysWithValues: file.tensors.map { ($0.name, $0) })
        var entries: [String: Entry] = [:]
        for tensor in file.tensors {
            func rejected(_ reason: String) -> FormatError {
                FormatError(file: file.path, location: .tensor(tensor.name, index: nil), reason: reason)
            }
            let isCount = tensor.name.hasSuffix(counts)
            guard isCount || tensor.name.hasSuffix(sums) else {
                throw rejected("importance matrices have tensors NAME\(sums) and NAME\(counts) only")
            }
            let name = String(tensor.name.dropLast(isCount ? counts.count : sums.count))
            guard let other = tensors[name + (isCount ? sums : counts)] else {
                throw rejected("there is no \(name)\(isCount ? sums : counts) beside it")
            }
            if isCount { continue }
            let columns = tensor.shape.dimensions.last ?? 0
            guard tensor.type.id == GGMLType.float32.id, other.type.id == GGMLType.float32.id, columns > 0,
                other.shape.count > 0, tensor.shape.count == other.shape.count * columns
            else { throw rejected("the sums and counts are not matrices in F32 with a row for each count") }
            let (squares, amounts) = (try numbers(in: tensor, file), try numbers(in: other, file))
            var entry = Entry(count: 0, meanSquares: squares, matrices: amounts.count)
            for (matrix, number) in amounts.enumerated() {
                let count = number.rounded()
                entry.count = max(entry.count, Int(exactly: count) ?? .max)
                for column in matrix * columns..<(matrix + 1) * columns {
                    // As in llama.cpp: an expert that no token reached has columns of the same importance.
                    entry.meanSquares[column] = count > 0 ? squares[column] / count : 1
                }
            }
            entries[name] = entry
        }
        return entries
    }

    /// Returns the elements of a tensor, all of them finite and at least 0.
    private static func numbers(in tensor: GGUFTensor, _ file: GGUFFile) throws(FormatError) -> [Float] {
        let values = tensor.bytes.floats
        if let bad = values.firstIndex(where: { !($0.isFinite && $0 >= 0) }) {
            throw FormatError(
                file: file.path, location: .tensor(tensor.name, index: bad), reason: "is not a number of at least 0")
        }
        return values
    }

    private static func legacy(_ bytes: ByteView, file: String) throws(FormatError) -> [String: Entry] {
        var reader = ByteReader(bytes, file: file)
        func natural(_ what: String, _ reader: inout ByteReader, atMost most: Int) throws(FormatError) -> Int {
            let start = reader.position
            let number = Int(try reader.integer(Int32.self))
            guard (0...max(most, 0)).contains(number) else {
                throw reader.error("\(what) is \(number), expected 0...\(max(most, 0))", at: start)
            }
            return number
        }
        // The smallest entry has a name of one byte, and one number.
        let count = Int(try reader.integer(Int32.self))
        let most = (bytes.count - 4) / 17
        guard (0...most).contains(count) else {
            var error = reader.error(
                "this is no importance matrix of llama.cpp: it would hold \(count) weights, and there is room for \(most)",
                at: 0)
            error.code = .importanceExpected
            throw error
        }
        var entries: [String: Entry] = [:]
        for _ in 0..<count {
            let start = reader.position
            let name = try reader.text(try natural("the length of a name", &reader, atMost: nameBytes))
            guard !name.isEmpty, entries[name] == nil else {
                throw reader.error("the name \(quoted(name)) is empty or occurs twice", at: start)
            }
            let calls = try natural("the number of calls", &reader, atMost: Int(Int32.max))
            let columns = try natural("the number of columns", &reader, atMost: reader.remaining / 4)
            let position = reader.position
            let values = try reader.bytes(4 * columns).floats
            guard columns > 0, values.allSatisfy({ $0.isFinite && $0 >= 0 }) else {
                throw reader.error(
                    "the importance of \(quoted(name)) is empty or not a number of at least 0", at: position)
            }
            entries[name] = Entry(count: max(calls, 1), meanSquares: values.map { $0 / Float(max(calls, 1)) })
        }
        // The number of chunks and the name of the text may follow.
        if !reader.isAtEnd {
            _ = try reader.integer(Int32.self)
            if !reader.isAtEnd {
                _ = try reader.bytes(try natural("the length of a name", &reader, atMost: reader.remaining))
            }
        }
        guard reader.isAtEnd else { throw reader.error("\(reader.remaining) bytes follow the last weight") }
        return entries
    }
}

extension ByteView {
    /// The bytes as numbers of float32, little-endian.
    fileprivate var floats: [Float] {
        withBytes { bytes in
            (0..<bytes.count / 4).map {
                Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self)))
            }
        }
    }
}

// MARK: - Weights

extension ImportanceMatrix {
    /// Returns the importance of a model's weights. The file names them as llama.cpp does, or as the model.
    /// - Parameters:
    ///   - columns: the numbers of columns by the weight's name; vectors are left out.
    ///   - family: the model's family.
    /// - Throws: `FormatError` for a weight with another number of columns, or if the file has no weight of the model.
    public func statistics(
        of columns: [String: Int], family: String
    ) throws -> [String: ActivationStatistics] {
        let architecture = try? GGUFArchitecture.family(family)
        var statistics: [String: ActivationStatistics] = [:]
        for (weight, count) in columns {
            let known = architecture.flatMap { Self.name(of: weight, in: $0) }
            guard let name = [known, weight].compactMap({ $0 }).first(where: { entries[$0] != nil }),
                let entry = entries[name]
            else { continue }
            guard entry.matrices == 1, entry.meanSquares.count == count else {
                throw FormatError(
                    file: path, location: .tensor(name, index: nil),
                    reason:
                        "has \(entry.matrices) x \(entry.meanSquares.count / entry.matrices) columns, but \(quoted(weight)) has "
                        + "\(count): it belongs to another model")
            }
            statistics[weight] = ActivationStatistics(count: entry.count, meanSquares: entry.meanSquares)
        }
        guard !statistics.isEmpty else {
            throw FormatError(
                file: path,
                reason:
                    "holds no weight of the model, but \(quoted(entries.keys.min() ?? "")): it belongs to another model"
            )
        }
        return statistics
    }

    private static func name(of weight: String, in architecture: GGUFArchitecture) -> String? {
        architecture.module(of: weight).map { architecture.name($0.module, $0.suffix) }
    }

    /// Writes the mean squares of weights' inputs as llama.cpp reads them.
    /// - Parameters:
    ///   - statistics: by the weight's name.
    ///   - family: the model's family.
    ///   - samples: the name of the file of samples, which the file mentions.
    ///   - path: the file to write.
    /// - Returns: The number of weights that llama.cpp has; others are left out.
    /// - Throws: `RequestError` if llama.cpp has no such family, `FormatError` for inputs that are not finite.
    public static func write(
        _ statistics: [String: ActivationStatistics], family: String, samples: String, to path: String
    ) throws -> Int {
        let architecture = try GGUFArchitecture.family(family)
        var tensors: [GGUFTensor] = []
        let named = statistics.compactMap { weight, known in
            name(of: weight, in: architecture).map { (name: $0, weight: weight, known: known) }
        }
        for (name, weight, known) in named.sorted(by: { $0.name < $1.name }) {
            let squares = known.meanSquares.map { Float(Double($0) * Double(known.count)) }
            if let bad = squares.firstIndex(where: { !$0.isFinite }) {
                throw FormatError(
                    file: samples, location: .tensor(weight, index: bad), reason: "has inputs that are not finite")
            }
            tensors.append(
                GGUFTensor(name: name + sums, type: .float32, shape: [1, known.columns], bytes: ByteView(squares)))
            tensors.append(
                GGUFTensor(name: name + counts, type: .float32, shape: [1, 1], bytes: ByteView([Float(known.count)])))
        }
        let longest = UInt32(clamping: named.map(\.known.count).max() ?? 1)
        try GGUFWriter.write(
            [
                (typeKey, .string(type)), ("imatrix.datasets", .strings([samples])),
                ("imatrix.chunk_count", .uint32(1)), ("imatrix.chunk_size", .uint32(longest)),
            ], tensors, to: path, as: output)
        return named.count
    }

    /// The kind of output: only an importance matrix is replaced.
    public static let output = OutputKind.file("an importance matrix (GGUF)", suffixes: [".gguf"]) { path in
        try GGUFFile(path)[typeKey] == .string(type) ? nil : "its metadata do not say so"
    }
}
