import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

/// What `decompress` writes is the checkpoint again, as far as functions read it.
@Suite("Decompressed models")
struct DecompressedModelTests {
    /// Every model of the fixtures, and those of the cases beside the checkout whose families have no fixture.
    static let models: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: Fixtures.path(""))) ?? []
        let fixtures = names.sorted().map(Fixtures.path)
        let others = Fixtures.sharedCases.map { ["\($0)/silero_vad_real", "\($0)/kokoro_adain_blocks"] } ?? []
        return (fixtures + others).filter { path in
            guard let checkpoint = try? Checkpoint(model: path) else { return false }
            return (try? Families.matching(checkpoint.configuration)) != nil
        }
    }()

    /// A model in a folder, with numbers for its free dimensions.
    private struct Model {
        let path: String
        let checkpoint: Checkpoint
        let content: FamilyModel

        init(_ path: String) throws {
            self.path = path
            checkpoint = try Checkpoint(model: path)
            content = try Families.matching(checkpoint.configuration).model(for: checkpoint)
        }

        var shape: String {
            var numbers: [String: Int] = [:]
            for dimension in content.programs.flatMap(\.dimensions) {
                numbers[dimension.name] = dimension.usual.first ?? 1
            }
            return numbers.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",")
        }

        /// What can be given back: all that is read, and what is equal to it.
        var originals: Set<String> { content.used.union(content.origins.copies.values.joined()) }

        /// Of each tensor that is one of two factors, that the product is what counts.
        var factors: Set<String> {
            let normed = content.origins.derivations.values.filter { $0.rule == .weightNorm }
            return Set(normed.flatMap(\.sources).map(\.name))
        }
    }

    private func run(_ words: [String], in folder: String) throws {
        let result = try CommandRunner.run(words, in: folder)
        #expect(result.status == 0, "\(words): \(result.errors)")
    }

    private func convert(_ model: Model, _ path: String, to package: String, scheme: String, in folder: String) throws {
        let shape = model.shape.isEmpty ? [] : ["--shape", model.shape]
        try run(["convert", path, "--compress", scheme, "--no-cache", "-o", package] + shape, in: folder)
    }

    @Test(
        "without loss, names, shapes and values are the checkpoint's, and converting again gives the same weights",
        arguments: models)
    func exact(_ path: String) throws {
        let model = try Model(path)
        try withTemporaryFolder { folder in
            try convert(model, path, to: "p.accelpkg", scheme: "float32", in: folder)
            let again = "\(folder)/again"
            try FileManager.default.createDirectory(atPath: again, withIntermediateDirectories: true)
            for name in try FileManager.default.contentsOfDirectory(atPath: path)
            where !name.hasSuffix(".safetensors") && !name.hasSuffix(".index.json") {
                try FileManager.default.copyItem(atPath: "\(path)/\(name)", toPath: "\(again)/\(name)")
            }
            try run(["decompress", "p.accelpkg", "-o", "again/model.safetensors"], in: folder)

            let written = try SafetensorsFile("\(again)/model.safetensors").tensors
            #expect(Set(written.map(\.name)) == model.originals)
            for tensor in written {
                let original = try #require(model.checkpoint[tensor.name])
                #expect(tensor.shape == original.shape, "\(tensor.name)")
                if !model.factors.contains(tensor.name) {
                    let isSame = zip(tensor.floats(), original.floats()).allSatisfy { $0.bitPattern == $1.bitPattern }
                    #expect(isSame, "\(tensor.name)")
                }
            }
            try convert(model, "again", to: "again.accelpkg", scheme: "float32", in: folder)
            #expect(
                try Data(contentsOf: URL(filePath: "\(folder)/p.accelpkg/weights-0000.bin"))
                    == Data(contentsOf: URL(filePath: "\(folder)/again.accelpkg/weights-0000.bin")))
        }
    }

    @Test("of lossy packages, names and shapes are the checkpoint's", arguments: models)
    func lossy(_ path: String) throws {
        let model = try Model(path)
        try withTemporaryFolder { folder in
            try convert(model, path, to: "p.accelpkg", scheme: "palette:bits=4", in: folder)
            try run(["decompress", "p.accelpkg", "-o", "w.safetensors", "--dtype", "float16"], in: folder)
            let written = try SafetensorsFile("\(folder)/w.safetensors").tensors
            #expect(Set(written.map(\.name)) == model.originals)
            for tensor in written { #expect(tensor.shape == model.checkpoint[tensor.name]?.shape, "\(tensor.name)") }
        }
    }
}
