import AccelByteIO
import TestSupport
import Testing

@testable import AccelTensors

@Suite("Tensors scaled by powers of two")
struct TensorScalingTests {
    private func tensor(_ values: [Float], _ shape: Shape, _ type: ElementType) -> StoredTensor {
        let bytes: [UInt8] =
            switch type {
            case .bfloat16: values.flatMap { $0.bitPattern.littleEndianBytes[2...] }
            case .float16: values.flatMap { UInt16(Self.halves[$0] ?? 0).littleEndianBytes }
            default: values.flatMap { $0.bitPattern.littleEndianBytes }
            }
        return StoredTensor(name: "w", elementType: type, shape: shape, bytes: ByteView(bytes))
    }
    /// Some numbers in half precision.
    private static let halves: [Float: UInt16] = [1: 0x3C00, 1.5: 0x3E00, -2: 0xC000, 0x1.004p-13: 0x0801, 0: 0]

    @Test(
        "rows and columns are multiplied, and what is scaled back is the very same",
        arguments: [ElementType.float32, .float16, .bfloat16])
    func exact(type: ElementType) throws {
        let source = tensor([1, 1.5, -2, 0, -2, 1], [2, 3], type)
        let scaling = ChannelScaling(rows: [1, -2], columns: [0, 3, -1])
        let scaled = try #require(source.scaled(by: scaling))
        #expect(scaled.elementType == type)
        #expect(scaled.floats() == [2, 24, -2, 0, -4, 0.125])
        #expect(scaled.scaled(by: scaling.inverse)?.bytes == source.bytes)
        let vector = tensor([1, 1.5], [2], type)
        #expect(vector.scaled(by: ChannelScaling(columns: [-1, 1]))?.floats() == [0.5, 3])
        #expect(vector.scaled(by: ChannelScaling())?.bytes == vector.bytes)
    }

    @Test("what would leave its type's range is not scaled, nor by another number of exponents")
    func rejected() {
        #expect(tensor([1, 3e38], [1, 2], .float32).scaled(by: ChannelScaling(columns: [0, 1])) == nil)
        #expect(tensor([0x1.000002p-126, 1], [1, 2], .float32).scaled(by: ChannelScaling(columns: [-1, 0])) == nil)
        #expect(tensor([1, 0x1.004p-13], [2, 1], .float16).scaled(by: ChannelScaling(rows: [0, -3])) == nil)
        #expect(tensor([1, 0x1.004p-13], [2, 1], .float16).scaled(by: ChannelScaling(rows: [0, 3])) != nil)
        #expect(tensor([1], [1], .float32).scaled(by: ChannelScaling(columns: [1, 1])) == nil)
        #expect(tensor([1, 2], [2, 1], .float32).scaled(by: ChannelScaling(rows: [1])) == nil)
        #expect(tensor([.nan], [1], .float32).scaled(by: ChannelScaling(columns: [1])) != nil)
        let integers = StoredTensor(name: "i", integers: [1, 2], shape: [2])
        #expect(integers.scaled(by: ChannelScaling(columns: [1, 1])) == nil)
        let nothing = StoredTensor(name: "n", floats: [], shape: [0, 3])
        #expect(nothing.scaled(by: ChannelScaling(columns: [1, 1, 1])) == nil)
    }
}

extension FixedWidthInteger {
    fileprivate var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}
