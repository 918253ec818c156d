import AccelByteIO
import AccelTensors
import TestSupport

@testable import AccelFormats

extension FuzzTarget {
    static let whisperCPP = FuzzTarget(name: "whisper.cpp", seeds: Attack.whisperCPP.map(\.bytes)) { bytes in
        let file = try WhisperFile(parsing: bytes, file: "fuzz")
        precondition(file.filters.values.count == file.filters.bands * file.filters.bins)
        var count = file.start.count
        for tensor in file.tensors {
            precondition(tensor.bytes.count == tensor.type.byteCount(tensor.shape))
            count += 12 + 4 * tensor.shape.rank + tensor.name.utf8.count + tensor.bytes.count
        }
        precondition(count == bytes.count)
    }
}
