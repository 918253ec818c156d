import ByteIO
import Foundation
import TestSupport
import Testing

@Suite("Hostile files")
struct AttackTests {
    @Test(
        "A malformed safetensors file ends with status 4 and one sentence that names the file",
        arguments: Attack.safetensors)
    func safetensors(_ attack: Attack) throws {
        try withTemporaryFolder { folder in
            try Data(attack.bytes).write(to: URL(filePath: "\(folder)/attack.safetensors"))
            let result = try CommandRunner.run(["inspect", "attack.safetensors"], in: folder)
            switch attack.verdict {
            case .accepted:
                #expect(result.status == 0, "\(result.errors)")
            case .refused(let place, let reason):
                #expect(result.status == 4, "\(result.errors)")
                let sentence = FormatError(file: "attack.safetensors", place: place, reason: "").description
                #expect(result.errors.hasPrefix("accelc: error: \(sentence)"), "\(result.errors)")
                #expect(result.errors.contains(reason), "\(result.errors)")
                #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
            }
        }
    }
}
