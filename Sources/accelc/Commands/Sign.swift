import AccelByteIO
import AccelHostTools
import AccelPackages

enum SignCommand: Command {
    static let name = "sign"
    static let summary = "sign a package with your SSH key, or as OpenSSF's model signing does"
    static let package = Positional("PACKAGE", "a package (folder or zip)", takes: [.package])
    static let key = Option(
        "key", .input("FILE"),
        "the key: of SSH (a public one where an agent has the private one), or for oms one on an elliptic curve in PEM",
        isRequired: true)
    static let format = Option(
        "format", .words(SignatureFormat.allCases.map(\.rawValue)), "ssh: by ssh-keygen; oms: by openssl",
        default: SignatureFormat.ssh.rawValue)
    static let model = Option(
        "name", .text("NAME"), "the model that the package is signed for: as another model it is refused")
    static let version = Option(
        "model-version", .integer(SignedRelease.versions),
        "the version of the model, a counter: after this one, lower ones are refused", needs: [.option("name")])
    static let output = Option(
        "output", .output("SIGNATURE") { SignatureFormat($0).output },
        "where to (default: PACKAGE.sig; oms: PACKAGE.oms.sig)", short: "o",
        implied: { arguments in arguments[package].map(SignatureFormat(arguments).defaultPath) })
    static let positionals = [package]
    static let options = [key, format, model, version, output, CommonOptions.json]
    static let notes = """
        The package is read against its digests first: what is damaged is not signed. The signature
        stands beside the package, good for its folder and its archive, as a package holds nothing that its
        manifest does not list. SSH signs manifest.json; without accelc, its signer is told by

            ssh-keygen -Y verify -f ALLOWED -I IDENTITY -n \(SSHSignature.namespace) \\
                -s PACKAGE.sig < PACKAGE/manifest.json

        With --name it signs a line with the SHA-256 of manifest.json, the name and the version, which is
        the last one of PACKAGE.sig:

            tail -n 1 PACKAGE.sig | ssh-keygen -Y verify ... -s PACKAGE.sig
        """

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let format = SignatureFormat(arguments)
        let (path, key) = (try arguments.required(package), try arguments.required(key))
        guard Files.kind(of: key) == .file else {
            throw RequestError(Files.brokenLink(key) ?? "there is no key at \(key)", status: .unavailable)
        }
        let output = try arguments.required(output)
        let release =
            try arguments[model].map { name throws(RequestError) in
                try SignedRelease(name: name, version: arguments.integer(version))
            } ?? .unstated
        let package = try AcceleratorPackage(at: path)
        try console.check(package)

        let signature: [UInt8]
        switch format {
        case .ssh: signature = try SSHKeygen().sign(package, for: release, key: key)
        case .oms:
            let statement = try package.statement(
                name: Files.name(of: path), release: release, threads: console.threads)
            signature = Array(try OpenSSL().sign(Array(statement.text.utf8), key: key).text.utf8)
        }
        try AtomicFile.write(ByteView(signature), to: output, as: format.output)
        let stated = release == .unstated ? "" : " for \(release.words),"
        console.result(
            [
                "package": .string(package.digest.description), "format": .string(format.rawValue),
                "signature": .string(output), "name": .text(release.name), "version": .int(release.version),
            ], "\(output): signs the package \(package.digest)\(stated) with \(key)")
        return .success
    }
}

enum SignatureFormat: String, CaseIterable {
    case ssh, oms

    init(_ arguments: Arguments) {
        self = arguments[SignCommand.format].flatMap(Self.init(rawValue:)) ?? .ssh
    }

    /// The kind of output that a signature may replace.
    var output: OutputKind { self == .ssh ? .sshSignature : .modelSignature }

    func defaultPath(beside package: String) -> String {
        Files.trimmingSlashes(package) + (self == .ssh ? ".sig" : ".oms.sig")
    }
}
