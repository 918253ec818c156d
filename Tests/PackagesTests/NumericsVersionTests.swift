import ByteIO
import Tensors
import TestSupport
import Testing
import WeightCompression

@testable import Packages

/// Caches outlive the tool that filled them. When one of these digests changes, results of the version before must not
/// be taken for those of this one: raise `Tool.numericsVersion`, and write down the new digests.
@Suite("What the numerics version stands for")
struct NumericsVersionTests {
    private static let version = 1
    private static let digests: [String: String] = [:]

    @Test("stored bytes are those of this numerics version", arguments: digests.keys.sorted())
    func codec(specification: String) throws {
        #expect(Tool.numericsVersion == Self.version)
        var generator = SeededGenerator(seed: 1)
        let floats = (0..<40 * 96).map { _ in Float.random(in: -2...2, using: &generator) }
        let source = StoredTensor(name: "w", floats: floats, shape: [40, 96])
        let (tensor, _) = try CompressedTensor.compressing(
            source, with: try Codecs.codec(specification), threads: 2)
        let digest = SHA256.digest(of: ByteView(tensor.joinedParts.flatMap(\.array)))
        #expect("\(specification) \(digest)" == "\(specification) \(Self.digests[specification] ?? "")")
    }
}
