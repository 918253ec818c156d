import AccelByteIO
import AccelTensors
import TestSupport
import Testing

@testable import AccelPackages

@Suite("A diff says what differs between two packages")
struct PackageDiffTests {
    private func diff(_ left: PackageContents, _ right: PackageContents) throws -> PackageDiff {
        try withTemporaryFolder { folder in
            try PackageWriter.write(left, to: "\(folder)/left")
            try PackageWriter.write(right, to: "\(folder)/right")
            return try PackageDiff(
                AcceleratorPackage(at: "\(folder)/left"), AcceleratorPackage(at: "\(folder)/right"))
        }
    }

    @Test("equal packages do not differ")
    func equal() throws {
        let contents = try TinyModel().contents()
        let diff = try diff(contents, contents)
        #expect(diff.differences.isEmpty)
        #expect(diff.text == "the packages are the same\n")
    }

    @Test("another codec differs in the weights that it stores and in the recipe")
    func codec() throws {
        let diff = try diff(TinyModel().contents(), TinyModel(compress: "bfloat16").contents())
        let names = diff.differences.filter { $0.subject == .weight }.map(\.name)
        #expect(names.contains("embeddings.weight"))
        #expect(diff.differences.contains { $0.subject == .provenance && $0.name == "recipe default" })
        #expect(diff.text.contains("weight embeddings.weight: F32[48,32] as float16"))
    }

    @Test("another shape differs in the functions, another source in its digest, another asset in itself")
    func others() throws {
        let left = try TinyModel().contents()
        var right = try TinyModel(shapes: ["sequence=8"]).contents()
        right.assets[0].content = ByteView(Array("{}".utf8))
        right.assets.removeLast()
        right.provenance.sources[0].digest = SHA256.digest(of: "other")
        let diff = try diff(left, right)
        let found = diff.differences.map { "\($0.subject.rawValue) \($0.name)" }
        #expect(
            found == [
                "size all files", "function model[sequence=4]", "function model[sequence=8]", "provenance shapes",
                "provenance source embeddings.weight", "asset assets/1_Pooling/config.json", "asset assets/config.json",
            ])
        #expect(diff.text.contains("asset assets/1_Pooling/config.json: only on the left: 2 bytes"))
    }
}
