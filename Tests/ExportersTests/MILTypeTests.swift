import Testing

@testable import AccelFormats

@Suite("Types of the Model Intermediate Language")
struct MILTypeTests {
    @Test("Codes of a palette have the unsigned type of their bits")
    func codeBits() {
        for bits in [1, 2, 3, 4, 6, 8] { #expect(MILDataType(codeBits: bits)?.bits == bits) }
        for bits in [0, 5, 7, 9] { #expect(MILDataType(codeBits: bits) == nil) }
    }

    @Test("A target's specification and operations are those that coremltools writes for it")
    func targets() {
        #expect(CoreMLTarget.allCases.map(\.specificationVersion) == [7, 8, 9, 10])
        #expect(CoreMLTarget.allCases.map(\.opset) == ["CoreML6", "CoreML7", "CoreML8", "CoreML9"])
    }
}
