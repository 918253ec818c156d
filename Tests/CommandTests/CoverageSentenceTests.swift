import AccelConversion
import TestSupport
import Testing

@testable import AccelPackages
@testable import AccelTensors
@testable import AccelWeightCompression

@Suite("Coverage")
struct CoverageSentenceTests {
    private func entry(_ name: String, _ shape: Shape, reason: String?) throws -> CoverageEntry {
        let source = StoredTensor(name: name, floats: [Float](repeating: 1, count: shape.count), shape: shape)
        let (tensor, distortion) = try CompressedTensor.compressing(source, with: StoredCodec(), threads: 1)
        return CoverageEntry(tensor: tensor, distortion: distortion, reason: reason, readers: ["linear"])
    }

    @Test("A matrix that a scheme cannot hold is a warning; a vector, which none is meant for, is not")
    func surprises() throws {
        let coverage = PackageCoverage(
            entries: [
                try entry("bias", [4], reason: "a vector has no output channels"),
                try entry("table", [4, 4], reason: "I64 elements are not floating point"),
                try entry("weight", [4, 4], reason: nil),
            ], unused: [])
        #expect(
            coverage.warnings == [
                "1 tensor is not stored as the recipe says: I64 elements are not floating point (table)"
            ])
        #expect(
            coverage.remarks == [
                "1 tensor is as in the checkpoint, by design: a vector has no output channels (bias)"
            ])
    }
}
