import AccelByteIO
import AccelPackages

enum VersionCommand: Command {
    static let name = "version"
    static let summary = "print the version"
    static let options = [CommonOptions.json]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        console.result(document, "accelc \(Tool.version)")
        return .success
    }

    private static var document: JSON {
        // Tells builds of one version apart.
        let executable = ProcessEnvironment.executable.flatMap { try? MappedFile($0).bytes }
        return [
            "version": .string(Tool.version),
            "package_format": .string("\(PackageFormat.major).\(PackageFormat.minor)"),
            "executable": .text(executable.map { SHA256.digest(of: $0).description }),
        ]
    }
}
