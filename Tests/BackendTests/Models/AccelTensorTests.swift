import Accel
import AccelByteIO
import AccelTensors
import Testing

@Suite("Tensors of apps")
struct AccelTensorTests {
    @Test("an array's elements, with its shape or one of the same size")
    func arrays() throws {
        #expect(try AccelTensor([1, 2, 3] as [Float]).typeText == "F32[3]")
        let matrix = try AccelTensor([1, 2, 3, 4, 5, 6] as [Int64], 2, 3)
        #expect(matrix.typeText == "I64[2,3]")
        #expect(try matrix.array(of: Int64.self) == [1, 2, 3, 4, 5, 6])
        #expect(try AccelTensor([] as [Float], 0, 4).array(of: Float.self).isEmpty)
        let error = #expect(throws: AccelError.self) { try AccelTensor([true], 2) }
        #expect(error?.code == .invalid)
        #expect(error?.description == "a tensor: has 1 elements; the shape [2] has 2")
        #expect(throws: AccelError.self) { try AccelTensor([1] as [Float], -1, -1) }
        #expect(throws: AccelError.self) { try AccelTensor([1] as [Float], .max, .max) }
        #expect(throws: AccelError.self) { try matrix.array(of: Float.self) }
    }

    @Test("a copy is another tensor as soon as one of the two is changed, and the memory is the same until then")
    func copies() throws {
        var first = try AccelTensor(of: Float.self, shape: [2, 2]) { span in
            for index in span.indices { span[index] = Float(index) }
        }
        let second = first
        let stored = first.stored(name: "x")
        #expect(address(of: first) == address(of: second))
        try first.withMutableSpan(of: Float.self) { $0[0] = 7 }
        #expect(try first.array(of: Float.self) == [7, 1, 2, 3])
        #expect(try second.array(of: Float.self) == [0, 1, 2, 3])
        #expect(stored.floats() == [0, 1, 2, 3])
        let own = address(of: first)
        try first.withMutableSpan(of: Float.self) { $0[1] = 8 }
        #expect(address(of: first) == own, "a tensor that nothing else has is changed in place")
    }

    @Test("adopted bytes are not copied, and are released once, after the last tensor, or at once if they do not fit")
    func adoption() throws {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 64)
        defer { bytes.deallocate() }
        bytes.storeBytes(of: 1, as: Float.self)
        bytes.storeBytes(of: 2, toByteOffset: 4, as: Float.self)
        let released = Locked(0)
        var tensor: AccelTensor? = try AccelTensor(
            adopting: UnsafeRawBufferPointer(bytes), elementType: .float32, shape: [2]
        ) { released.withLock { $0 += 1 } }
        #expect(try tensor?.array(of: Float.self) == [1, 2])
        #expect(tensor.map(address) == UnsafeRawPointer(bytes.baseAddress))
        var stored = tensor?.stored(name: "x")
        tensor = nil
        #expect(released.withLock { $0 } == 0)
        #expect(stored?.floats() == [1, 2])
        stored = nil
        #expect(released.withLock { $0 } == 1)
        for (count, offset) in [(7, 0), (4, 2)] {
            let part = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
            let error = #expect(throws: AccelError.self) {
                try AccelTensor(adopting: part, elementType: .float32, shape: [1]) { released.withLock { $0 += 1 } }
            }
            #expect(error?.code == .invalid)
        }
        #expect(released.withLock { $0 } == 3)
    }

    private func address(of tensor: AccelTensor) -> UnsafeRawPointer? {
        tensor.stored(name: "").bytes.withBytes { $0.baseAddress }
    }
}
