import AccelByteIO
import AccelHostTools
import AccelPackages

enum SignCommand: Command {
    static let name = "sign"
    static let summary = "sign a package with an SSH key, or with an OpenSSF model signature"
    static let package = Positional("PACKAGE", "a package (folder or zip)", takes: [.package])
    static let key = Option(
        "key", .input("FILE"), in: .signing,
        "the key: an SSH key, or for oms a PEM file. An SSH key may be the public one if an agent has the private one; a key for oms "
            + "is on an elliptic curve",
        isCommon: true, isRequired: true)
    static let format = Option(
        "format", .words(SignatureFormat.allCases.map(\.rawValue)), in: .signing,
        "the kind of signature. ssh is made by ssh-keygen, and oms (OpenSSF model signing) by openssl",
        default: SignatureFormat.ssh.rawValue, isCommon: true)
    static let model = Option(
        "name", .text("NAME"), in: .signing,
        "the model that the package is signed for. It is rejected as any other model", isCommon: true)
    static let version = Option(
        "model-version", .integer(SignedRelease.versions), in: .signing,
        "the version of the model. It is a counter; after this version, lower ones are rejected", isCommon: true,
        needs: [.option("name")])
    static let output = Option(
        "output", .output("SIGNATURE") { SignatureFormat($0).output }, in: .output,
        "the signature to write (default: PACKAGE.sig; oms: PACKAGE.oms.sig)", short: "o", isCommon: true,
        implied: { arguments in arguments[package].map(SignatureFormat(arguments).defaultPath) })
    static let positionals = [package]
    static let options = [key, format, model, version, output, CommonOptions.json]
    static let examples = ["accelc sign minilm.accelpkg --key ~/.ssh/id_ed25519"]
    static let subjects = ["the signed bytes"]
    static let details = """
        The package is compared with its digests first, so that a damaged package is not signed. The
        signature is a file beside the package. It is valid for the package's folder and for its archive,
        because the manifest lists every file of a package. SSH signs manifest.json. Without accelc, this
        checks the signature:

            ssh-keygen -Y verify -f ALLOWED -I IDENTITY -n \(SSHSignature.namespace) \\
                -s PACKAGE.sig < PACKAGE/manifest.json

        With --name, SSH signs a line with the SHA-256 of manifest.json, the name and the version. It is the
        last line of PACKAGE.sig:

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
