import Foundation
import TestSupport
import Testing

@Suite("Hostile files through the tool")
struct HostileFileTests {
    @Test("Each gives one sentence with the file and exit status 4", arguments: Attack.safetensors)
    func safetensors(_ attack: Attack) throws {
        try withTemporaryFolder { folder in
            try Data(attack.bytes).write(to: URL(filePath: "\(folder)/attack.safetensors"))
            let result = try CommandRunner.run(["inspect", "attack.safetensors"], in: folder)
            switch attack.verdict {
            case .accepted:
                #expect(result.status == 0, "\(result.errors)")
            case .rejected:
                #expect(result.status == 4, "\(result.output)\(result.errors)")
                #expect(result.output.isEmpty)
                #expect(result.errors.hasPrefix("accelc: error: attack.safetensors, "), "\(result.errors)")
                #expect(result.errors.count { $0 == "\n" } == 1, "\(result.errors)")
            }
        }
    }
}
