import Foundation
import TestSupport
import Testing

@testable import AccelByteIO

@Suite("Memory that input asks for")
struct MachineMemoryTests {
    @Test("what there is not is rejected with both numbers, and what there is is not")
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

    @Test("of a control group counts what is left of its limit; file pages that are not in use are left, too")
    func groups() throws {
        try withTemporaryFolder { folder in
            func write(_ files: [String: String]) throws {
                for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)")) }
            }
            let second = ControlGroup(folder, isVersion2: true)
            #expect(second.limit == nil && second.free == nil)
            try write(["memory.max": "max\n", "memory.current": "700\n"])
            #expect(second.limit == nil && second.free == nil)
            try write(["memory.max": "1000\n"])
            #expect(second.limit == 1000 && second.free == 300)
            try write(["memory.stat": "anon 100\nfile 600\nactive_file 400\ninactive_file 200\n"])
            #expect(second.free == 500)
            try write(["memory.current": "100\n"])
            #expect(second.free == 1000)
            let first = ControlGroup(folder, isVersion2: false)
            try write(["memory.limit_in_bytes": "900\n", "memory.usage_in_bytes": "1200\n"])
            try write(["memory.stat": "inactive_file 5\ntotal_inactive_file 100\n"])
            #expect(first.limit == 900 && first.free == -200)
        }
    }

    #if os(Linux)
        @Test("no more is available than the system says, whatever the machine has")
        func system() throws {
            let text = try String(contentsOfFile: "/proc/meminfo", encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("MemAvailable:") })
            let stated = try #require(Int(line.split(separator: " ")[1])) * 1024
            // Others take and give back memory meanwhile.
            #expect(MachineMemory.available < stated + 1 << 30)
            let groups = ControlGroup.all.compactMap(\.free)
            #expect(groups.allSatisfy { MachineMemory.available < $0 + 1 << 30 })
        }
    #endif

    @Test("sums do not overflow")
    func sums() {
        #expect(MachineMemory.sum([1, 2, 3]) == 6)
        #expect(MachineMemory.sum([.max, 1, 5]) == .max)
        #expect(MachineMemory.sum([]) == 0)
    }

    @Test(
        "a buffer of any size is zeroed or rejected; none ends the process", arguments: [0, 1, 4096, 1 << 21, 3 << 20])
    func buffers(count: Int) throws {
        let buffer = try ByteBuffer(allocating: count, for: "it")
        #expect(buffer.bytes.count == count && buffer.bytes.allSatisfy { $0 == 0 })
        for count in [1 << 47, Int.max] {
            #expect(throws: RequestError.self) { try ByteBuffer(allocating: count, for: "it") }
        }
    }
}
