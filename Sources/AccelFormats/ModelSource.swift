import AccelByteIO
public import AccelPackages
import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// An open model of any format, the input of `convert`, `export`, `verify`, `inspect`, `decompress` and `diff`.
public protocol ModelSource: Sendable {
    /// The format that opened the model.
    var format: any ModelFormat.Type { get }
    /// The path of the folder or file.
    var path: String { get }
    /// The kinds of information that the source has.
    var abilities: Set<SourceAbility> { get }
    /// Remarks on the files for the user, a sentence each.
    var remarks: [String] { get }
    /// The computations in which the format's own runtimes differ from accelc on the same files, a sentence each.
    var deviations: [String] { get }
    /// The weights whose codes another search may have made than the one of their scheme, such as one by an importance matrix.
    /// The values are the schemes that made them, as far as the files record it.
    var freeCodes: [String: any WeightCodec] { get }
    /// The files that were opened so far. A conversion records their digests and checks them again at its end.
    var files: ModelFiles { get }
    /// Sources that are not among `files`, with digests from the format's own checks.
    var knownSources: [Provenance.Source] { get }
    /// The files that a package copies unchanged, such as tokenizer and configuration.
    var assets: [Asset] { get throws }
    /// The number of weights that `decompress` reads.
    var weightCount: Int { get throws }
    /// The number of files that `check` reads; nil if not known.
    var checkedFileCount: Int? { get }
    /// The weights in an order that the format defines.
    /// - Throws: `FormatError` for weights whose elements are missing; `RequestError` for different weights of one name.
    var weights: [SourceWeight] { get throws }
    /// Checks all files against their digests.
    /// - Parameter progress: receives each file before it is read.
    /// - Returns: whether the format has digests.
    /// - Throws: `FormatError` if a file does not match its digest.
    func check(progress: (_ file: String) -> Void) throws -> Bool
    /// Judges the program by the rules of the linter.
    /// - Returns: what they find, the most severe first; nothing for a format without rules.
    /// - Throws: `FormatError` if a constant is corrupt.
    func lint() throws -> [LintFinding]
    /// Checks again that the data that was read has not changed since, for data that is not among `files`.
    /// - Throws: as `check`.
    func requireUnchanged() throws
    /// Builds the functions as programs.
    /// - Parameters:
    ///   - parts: the parts to build; empty for the default ones.
    ///   - ignoredTensors: patterns of tensor names that may stay unused.
    ///   - allowsIdlePatterns: whether patterns that match no unused tensor are accepted.
    /// - Throws: `RequestError` for an unknown part and for unsupported operations; `FormatError` if the model is corrupt.
    func model(parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool) throws -> SourceModel
    /// Writes the decoded weights as a safetensors file, with the names and shapes of the checkpoint where these are known.
    /// - Parameters:
    ///   - path: the file to write.
    ///   - elementType: float32 or float16.
    ///   - progress: receives each tensor's name before it is written.
    /// - Returns: the names of the written tensors.
    /// - Throws: `FormatError` for a value that the element type cannot hold, `RequestError` for another element type.
    func decompress(
        to path: String, as elementType: ElementType, progress: (_ tensor: String) -> Void
    ) throws -> [String]
    /// The names of the checkpoint's tensors that `decompress` does not write, because no function reads them.
    var missingTensors: [String] { get throws }
}

/// A kind of information that some sources have.
public enum SourceAbility: CaseIterable, Sendable {
    /// Dimensions are free: the model can be inspected for any shapes.
    case shapes
    /// Tensors of the files can be listed.
    case tensors
    /// Functions and their nodes can be listed.
    case graph
    /// The model has an execution plan.
    case plan
    /// The files have digests that `check` compares.
    case check
    /// The program can be judged by the rules of the linter.
    case lint
}

extension ModelSource {
    public var remarks: [String] { [] }
    public var deviations: [String] { [] }
    public var freeCodes: [String: any WeightCodec] { [:] }
    public var knownSources: [Provenance.Source] { [] }
    public var assets: [Asset] { get throws { [] } }
    public var missingTensors: [String] { get throws { [] } }
    public var weightCount: Int { get throws { try weights.count } }
    public var checkedFileCount: Int? { nil }
    public func check(progress: (_ file: String) -> Void) throws -> Bool { false }
    public func requireUnchanged() throws {}
    public func lint() throws -> [LintFinding] { [] }

    /// Builds the default parts, without ignored tensors.
    public func model() throws -> SourceModel {
        try model(parts: [], ignoredTensors: [], allowsIdlePatterns: false)
    }

    /// Returns the digests of all sources.
    /// - Parameters:
    ///   - cache: remembers digests of unchanged files; nil for none.
    ///   - threads: number of threads for hashing.
    public func digests(cache: Cache?, threads: Int) throws -> ModelDigests {
        try ModelDigests(files, known: knownSources, cache: cache, threads: threads)
    }

    /// Writes one weight after the other; only the values of one weight are in memory at a time.
    public func decompress(
        to path: String, as elementType: ElementType, progress: (_ tensor: String) -> Void
    ) throws -> [String] {
        let weights = try weights
        let names = weights.map(\.name)
        guard Set(names).count == names.count else {
            throw RequestError("\(self.path): its functions have different weights of one name", status: .unavailable)
        }
        var output = try DecompressedFile(
            replacing: path, of: weights.map { ($0.name, $0.shape) }, as: elementType, from: self.path)
        for weight in weights {
            progress(weight.name)
            try output.append(weight.values().floats(), of: weight.name)
        }
        try output.finish()
        return names
    }
}

/// A weight of a source: name, shape, storage scheme, and values on demand.
public struct SourceWeight: Sendable {
    /// The name in the checkpoint if known, else the name in the format.
    public let name: String
    /// The shape of the decoded values.
    public let shape: Shape
    /// The storage scheme in words, e.g. `F32`, `int4:group=32`, `palette, 4 bits, 1 table`.
    public let scheme: String
    /// Bits of the stored form, with scales and tables.
    public let storedBits: Int
    /// Bits of the codes for one weight, without scales and tables.
    public let codeBits: Double
    /// Decodes the values: a view of the file for plain numbers, else new memory. Fails if the file's codes are no encoding.
    public let values: @Sendable () throws -> StoredTensor

    /// A weight with a function that decodes its values.
    public init(
        name: String, shape: Shape, scheme: String, storedBits: Int, codeBits: Double,
        values: @escaping @Sendable () throws -> StoredTensor
    ) {
        (self.name, self.shape, self.scheme) = (name, shape, scheme)
        (self.storedBits, self.codeBits) = (storedBits, codeBits)
        self.values = { try values().resident() }
    }

    /// An uncompressed tensor of a file.
    /// - Parameter type: the type of its numbers in the file; nil for that of the tensor.
    public init(_ tensor: StoredTensor, storedAs type: ElementType? = nil) {
        let bits = (type ?? tensor.elementType).byteCount * 8
        self.init(
            name: tensor.name, shape: tensor.shape, scheme: (type ?? tensor.elementType).rawValue,
            storedBits: tensor.shape.count * bits, codeBits: Double(bits)
        ) { tensor }
    }
}
