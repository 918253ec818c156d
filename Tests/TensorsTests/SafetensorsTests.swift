import AccelByteIO
import TestSupport
import Testing

@testable import AccelTensors

@Test("a written file reads back equal")
func roundTrip() throws {
    try withTemporaryFolder { folder in
        let tensors = [
            StoredTensor(name: "b", floats: [1, 2.5, -3, .infinity], shape: [2, 2]),
            StoredTensor(name: "a", integers: [5, -6], shape: [2]),
            StoredTensor(name: "scalar", floats: [7], shape: []),
            StoredTensor(name: "empty", floats: [], shape: [0, 3]),
        ]
        let path = "\(folder)/model.safetensors"
        try SafetensorsWriter.write(tensors, to: path, as: .part, metadata: [("format", "pt")])
        let file = try SafetensorsFile(path)
        for tensor in tensors {
            let read = try #require(file[tensor.name])
            #expect(read.bytes == tensor.bytes && read.shape == tensor.shape && read.elementType == tensor.elementType)
        }
        #expect(try Files.list(folder) == ["model.safetensors"])
        let checkpoint = try Checkpoint(model: folder)
        #expect(checkpoint.tensors.map(\.name) == ["a", "b", "empty", "scalar"])
        #expect(checkpoint["b"]?.floats() == [1, 2.5, -3, .infinity])
        #expect(
            SHA256.digest(of: "abc").description == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            try Parallel.map(1000, threads: 4) { i in try Parallel.map(3, threads: 2) { $0 + i }.reduce(0, +) }
                == (0..<1000).map { 3 * $0 + 3 })
    }
}
