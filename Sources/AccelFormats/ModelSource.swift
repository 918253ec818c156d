import AccelByteIO
public import AccelPackages
import AccelPrograms
public import AccelTensors

/// An open model, whoever made it: what `convert`, `export`, `verify`, `inspect`, `decompress` and `diff` read.
public protocol ModelSource: Sendable {
    /// What opened it.
    var format: any ModelFormat.Type { get }
    /// The folder or file.
    var path: String { get }
    /// What it can tell besides its functions and weights.
    var abilities: Set<SourceAbility> { get }
    /// What is worth knowing of its files, in sentences.
    var remarks: [String] { get }
    /// The files that were opened so far. Converting keeps account of them.
    var files: ModelFiles { get }
    /// What was read and is not among `files`, by a digest that the format vouches for.
    var knownSources: [Provenance.Source] { get }
    /// The files beside the weights that a package passes through: tokenizer, configuration.
    var assets: [Asset] { get throws }
    /// How many weights `decompress` reads.
    var weightCount: Int { get throws }
    /// How many files `check` reads; nil where it does not tell.
    var checkedFileCount: Int? { get }
    /// Its weights, in an order of the format's.
    /// - Throws: `FormatError` for weights whose elements are not there; `RequestError` for two of one name.
    var weights: [SourceWeight] { get throws }
    /// Reads every byte that has a digest.
    /// - Parameter progress: gets what is read next.
    /// - Returns: whether there are digests.
    /// - Throws: `FormatError` for bytes that are not those that were written.
    func check(progress: (_ file: String) -> Void) throws -> Bool
    /// Checks once more that what was read is what it was, where `files` do not tell.
    /// - Throws: as `check`.
    func requireUnchanged() throws
    /// Its functions as programs.
    /// - Parameters:
    ///   - parts: those to build; empty for all that are built without being asked for.
    ///   - ignoredTensors: patterns of tensors that may stay out of every program.
    ///   - allowsIdlePatterns: a pattern that fits no tensor left out is no error.
    /// - Throws: `RequestError` for a part that it does not have, and for what accelc cannot compute; `FormatError`.
    func model(parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool) throws -> SourceModel
    /// Writes the weights as safetensors, under the names and in the shapes of the checkpoint as far as they are known.
    /// - Returns: the names of the tensors that were written.
    /// - Throws: `FormatError` for a value that the element type cannot hold.
    func decompress(
        to path: String, as elementType: ElementType, progress: (_ tensor: String) -> Void
    ) throws -> [String]
    /// Tensors of the checkpoint that `decompress` does not write, because no function reads them.
    var missingTensors: [String] { get throws }
}

/// Something that some sources can tell.
public enum SourceAbility: CaseIterable, Sendable {
    /// Its dimensions are free, so that it can be looked at for any numbers.
    case shapes
    /// It has tensors that can be listed.
    case tensors
    /// It has functions whose nodes can be listed.
    case graph
    /// An execution plan of this tool is made of it when it is opened.
    case plan
    /// It says what its bytes have to be.
    case check
}

extension ModelSource {
    public var remarks: [String] { [] }
    public var knownSources: [Provenance.Source] { [] }
    public var assets: [Asset] { get throws { [] } }
    public var missingTensors: [String] { get throws { [] } }
    public var weightCount: Int { get throws { try weights.count } }
    public var checkedFileCount: Int? { nil }
    public func check(progress: (_ file: String) -> Void) throws -> Bool { false }
    public func requireUnchanged() throws {}

    /// What its functions compute, with every default.
    public func model() throws -> SourceModel {
        try model(parts: [], ignoredTensors: [], allowsIdlePatterns: false)
    }

    /// Digests of all that was read.
    /// - Parameter cache: where digests are remembered.
    public func digests(cache: Cache?, threads: Int) throws -> ModelDigests {
        try ModelDigests(files, known: knownSources, cache: cache, threads: threads)
    }

    /// Weights one after the other; the values of one at a time are in memory.
    public func decompress(
        to path: String, as elementType: ElementType, progress: (_ tensor: String) -> Void
    ) throws -> [String] {
        let weights = try weights
        let names = weights.map(\.name)
        guard Set(names).count == names.count else {
            throw RequestError("\(self.path): its functions have different weights of one name", status: .unavailable)
        }
        var writer = try SafetensorsWriter(
            replacing: path, as: .weights,
            entries: weights.map { .init(name: $0.name, elementType: elementType, shape: $0.shape) })
        for weight in weights {
            progress(weight.name)
            try weight.values().withBytes(as: elementType) { try writer.append($0) }
        }
        try writer.finish()
        return names
    }
}

/// A weight of a source: what it is called, how it is stored, and its values when they are asked for.
public struct SourceWeight: Sendable {
    /// The checkpoint's name where it is known, else the format's.
    public let name: String
    public let shape: Shape
    /// How it is stored, e.g. `F32`, `int4:group=32`, `palette, 4 bits, 1 table`.
    public let scheme: String
    /// Bits of all that it is stored as.
    public let storedBits: Int
    /// Decodes the values; in memory of their own where they are compressed.
    public let values: @Sendable () throws -> StoredTensor

    public init(
        name: String, shape: Shape, scheme: String, storedBits: Int,
        values: @escaping @Sendable () throws -> StoredTensor
    ) {
        (self.name, self.shape, self.scheme) = (name, shape, scheme)
        (self.storedBits, self.values) = (storedBits, values)
    }

    /// A tensor as it lies in a file.
    public init(_ tensor: StoredTensor) {
        self.init(
            name: tensor.name, shape: tensor.shape, scheme: tensor.elementType.rawValue,
            storedBits: tensor.bytes.count * 8
        ) { tensor }
    }
}
