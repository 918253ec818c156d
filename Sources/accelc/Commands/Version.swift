import AccelByteIO
import AccelPackages

enum VersionCommand: Command {
    static let name = "version"
    static let summary = "print the version"
    static let options = [CommonOptions.json]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        if arguments.has(CommonOptions.json) {
            let format = "\(PackageFormat.major).\(PackageFormat.minor)"
            // Tells builds of one version apart.
            let executable = ProcessEnvironment.executable.flatMap { try? MappedFile($0).bytes }
            console.print([
                "version": .string(Tool.version), "package_format": .string(format),
                "executable": executable.map { .string(SHA256.digest(of: $0).description) } ?? .null,
            ])
        } else {
            console.summary("accelc \(Tool.version)")
        }
        return .success
    }
}
