public import AccelByteIO
import AccelPackages
import AccelPrograms
public import AccelTensors
import AccelWeightCompression

/// A model whose outputs tell its number, and whether all of them come from one model: for an input of ones, `first` has 64 times
/// the number everywhere, and `second` 64 times its square.
public struct NumberedModel {
    /// From 1 to 255, so that all outputs are exact.
    public var number: Int
    /// The name of the part, and so of its function.
    public var part = "model"
    /// The name of the input.
    public var input = "x"
    /// Whether there is an output `third`.
    public var hasThird = false
    /// Whether the weights are so large that outputs overflow.
    public var isBroken = false
    /// The bytes of an asset.
    public var assetBytes = 0

    private static let width = 64

    public init(_ number: Int) { self.number = number }

    private func program() throws -> Program {
        var builder = ProgramBuilder(name: part, dimensions: [.init("batch", usual: [1])], role: .encode)
        let x = builder.input(input, TensorType(.float32, ["batch", 1, .fixed(Self.width)]), .hiddenStates)
        func weight(_ name: String, _ value: Float) -> StoredTensor {
            let floats = [Float](repeating: isBroken ? 3e38 : value, count: Self.width * Self.width)
            return StoredTensor(name: name, floats: floats, shape: [Self.width, Self.width])
        }
        let first = try builder.apply(
            Linear(), [x, builder.constant(weight("first.weight", Float(number)), isWeight: true)])
        let second = try builder.apply(
            Linear(),
            [first, builder.constant(weight("second.weight", Float(number) / Float(Self.width)), isWeight: true)])
        builder.output("first", first, .hiddenStates)
        builder.output("second", second, .hiddenStates)
        if hasThird { builder.output("third", try builder.apply(Add(), [first, second]), .hiddenStates) }
        return try builder.finish()
    }

    /// Writes the package.
    /// - Returns: its digest.
    @discardableResult
    public func write(to path: String, asArchive: Bool = false) throws -> Digest {
        let recipe = Recipe(default: try Codecs.codec("float32"))
        let compressed = try recipe.compressing([try program().freezing(ShapeBindings(["batch": 1]))], threads: 1)
        let asset = [UInt8](repeating: 7, count: assetBytes)
        let contents = PackageContents(
            graph: try compressed.graph(), coverage: compressed.weights.map(CoverageEntry.init), unusedTensors: [],
            provenance: Provenance(sources: [], family: "numbered", recipe: recipe.json, shapes: []),
            assets: assetBytes > 0 ? [Asset(name: "notes.bin", content: ByteView(asset))] : [])
        return try asArchive ? PackageWriter.archive(contents, to: path) : PackageWriter.write(contents, to: path)
    }

    /// The input of ones.
    public static var ones: StoredTensor {
        StoredTensor(name: "x", floats: [Float](repeating: 1, count: width), shape: [1, 1, width])
    }

    /// Returns the number of the model that made outputs for the input of ones; nil if no one model did.
    public static func number(of first: [Float], _ second: [Float]) -> Int? {
        guard first.count == width, second.count == width, let found = first.first.map({ $0 / Float(width) }) else {
            return nil
        }
        let isWhole = first.allSatisfy { $0 == found * Float(width) }
        return isWhole && second.allSatisfy { $0 == found * found * Float(width) } ? Int(exactly: found) : nil
    }
}
