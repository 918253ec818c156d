import AccelByteIO
import AccelPackages

enum VersionCommand: Command {
    static let name = "version"
    static let summary = "print the version"

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        console.print("accelc \(Tool.version)")
        return .success
    }
}
