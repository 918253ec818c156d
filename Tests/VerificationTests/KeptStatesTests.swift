import AccelPrograms
import AccelTensors
import Testing

@testable import AccelVerification

@Suite("States that are kept for a later run")
struct KeptStatesTests {
    @Test("a state is the same from memory and from a file, and replaces an earlier one", arguments: [0, 1 << 20])
    func kept(_ mostBytes: Int) throws {
        let kept = KeptStates(mostBytesInMemory: mostBytes)
        let first = HostTensor([0.5, -1, .infinity, .leastNonzeroMagnitude, 7, 8], [2, 3])
        let half = HostTensor(.float16([0.25, 65504]), [2])
        let whole = HostTensor([1, -2] as [Int64], [2])
        for (name, tensor) in [("a", first), ("b", half), ("c", whole), ("d", HostTensor([Float](), [0]))] {
            try kept.keep(tensor, as: name)
        }
        #expect(kept.names == ["a", "b", "c", "d"])
        #expect(try kept.state("a") == first && kept.state("b") == half && kept.state("c") == whole)
        #expect(try kept.state("d")?.shape == [0] && kept.state("e") == nil)
        try kept.keep(half, as: "a")
        #expect(try kept.state("a") == half && kept.state("b") == half)
    }
}
