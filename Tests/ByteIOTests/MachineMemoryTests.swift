import TestSupport
import Testing

@testable import AccelByteIO

@Suite("Memory that input asks for")
struct MachineMemoryTests {
    @Test("what there is not is refused with both numbers, and what there is is not")
    func require() throws {
        try MachineMemory.require(1000, for: "it", available: 1000)
        let error = #expect(throws: RequestError.self) {
            try MachineMemory.require(1001, for: "function f", available: 1000)
        }
        #expect(error?.description == "function f needs 1001 bytes; 1000 are available")
        #expect(error?.exitStatus == .unavailable)
        #expect(MachineMemory.available > 1 << 26 && MachineMemory.available < 1 << 48)
    }

    #if os(Linux)
        @Test("what the process holds is not available")
        func held() throws {
            let before = MachineMemory.available
            let buffer = try ByteBuffer(allocating: 1 << 28, for: "it")
            for place in stride(from: 0, to: 1 << 28, by: 4096) { buffer.bytes[place] = 1 }
            // Other tests take and give back memory meanwhile.
            #expect(before - MachineMemory.available > 1 << 27)
        }
    #endif

    @Test("sums do not overflow")
    func sums() {
        #expect(MachineMemory.sum([1, 2, 3]) == 6)
        #expect(MachineMemory.sum([.max, 1, 5]) == .max)
        #expect(MachineMemory.sum([]) == 0)
    }

    @Test(
        "a buffer of any size is zeroed or refused; none ends the process", arguments: [0, 1, 4096, 1 << 21, 3 << 20])
    func buffers(count: Int) throws {
        let buffer = try ByteBuffer(allocating: count, for: "it")
        #expect(buffer.bytes.count == count && buffer.bytes.allSatisfy { $0 == 0 })
        for count in [1 << 47, Int.max] {
            #expect(throws: RequestError.self) { try ByteBuffer(allocating: count, for: "it") }
        }
    }
}
