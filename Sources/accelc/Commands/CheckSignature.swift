import AccelByteIO
import AccelHostTools
import AccelPackages

enum CheckSignatureCommand: Command {
    static let name = "check-signature"
    static let summary = "check the signature of a package, and print its signer"
    static let signature = Option(
        "signature", .input("FILE"), in: .signing,
        "the signature (default: PACKAGE.sig; with --public-key PACKAGE.oms.sig)", isCommon: true)
    static let signers = Option(
        "allowed-signers", .input("FILE"), in: .signing,
        "a file of identities and their SSH keys. Its format is ALLOWED SIGNERS in ssh-keygen(1)",
        isCommon: true, excludes: ["public-key", "trust"], needs: [.option("identity")])
    static let identity = Option(
        "identity", .text("NAME"), in: .signing, "the required signer", isCommon: true,
        excludes: ["public-key", "trust"],
        needs: [.option("allowed-signers")])
    static let publicKey = Option(
        "public-key", .input("PEM"), in: .signing, "the required key of an OpenSSF model signature", isCommon: true,
        excludes: ["trust"])
    static let trust = Option(
        "trust", .input("JSON"), in: .signing,
        "a policy of required signers by the path of the package. Its schema is \(CommonOptions.schema("trust"))",
        isCommon: true)
    static let unsigned = Option(
        "allow-unsigned", .flag, in: .signing, "accept an unsigned package where the policy allows it", isCommon: true,
        needs: [.option("trust")])
    static let positionals = [SignCommand.package]
    static let options = [signature, signers, identity, publicKey, trust, unsigned, CommonOptions.json]
    /// A line of a file of allowed signers.
    private static let signersExample = "me@example.com ssh-ed25519 AAAAC3NzaC1..."
    static let examples = [
        "accelc check-signature minilm.accelpkg --allowed-signers signers --identity me@example.com"
    ]
    static let notes = """
        A line of the file of --allowed-signers is an identity and a public key, as in the .pub file:
          \(signersExample)

        The exit status is 4 if the package is not signed, is signed by another key or for another purpose,
        or differs from the signed package in any byte. It is 2 if --allowed-signers has no line for the
        identity. The report in verify.json is not signed.
        """

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let path = try arguments.required(SignCommand.package)
        // The path is opened once: the checked bytes stay the same even if another file takes the path meanwhile.
        let opened = try OpenedPath(path)
        let package = try AcceleratorPackage(opened)
        let signer: Signer
        if let policy = arguments[trust] {
            signer = try check(package, opened, by: try FormatError.ofRequest { try TrustPolicy(policy) }, arguments)
        } else if let key = arguments[publicKey] {
            signer = try check(package, at: path, by: key, arguments, console)
        } else if let identity = arguments[identity], let signers = arguments[signers] {
            signer = try check(package, at: path, identities: [identity], allowedSigners: signers, arguments)
        } else {
            throw arguments.usage(
                "needs --allowed-signers FILE and --identity NAME, --public-key PEM, or --trust JSON; a line of FILE is an identity "
                    + "and a public key, as in \"\(signersExample)\"")
        }
        try console.check(package)

        let words = signer.name.map { "signed by \($0)" } ?? "not signed, which the policy and --allow-unsigned allow"
        let stated = signer.release == .unstated ? "" : ", for \(signer.release.words)"
        console.result(
            [
                "package": .string(package.digest.description), "signed": .bool(signer.name != nil),
                "signer": .text(signer.name), "key": .text(signer.key), "ignored": .texts(signer.ignored),
                "name": .text(signer.release.name), "version": .int(signer.release.version),
            ], "\(path): \(words)\(signer.key.map { " (\($0))" } ?? "")\(stated), \(package.digest)")
        package.remarks.forEach(console.warning)
        for name in signer.ignored where name != "verify.json" {
            console.warning(
                "the signature leaves out \"\(name.prefix(80))\"; the package is checked with it all the same")
        }
        return .success
    }

    private struct Signer {
        /// The signer's name; nil if the policy allows an unsigned package.
        var name: String?
        var key: String?
        /// The names that the signature does not cover.
        var ignored: [String] = []
        /// The model that the signature states.
        var release = SignedRelease.unstated
    }

    private static func check(
        _ package: AcceleratorPackage, at path: String, identities: [String], allowedSigners: String,
        _ arguments: Arguments
    ) throws -> Signer {
        let file = arguments[signature] ?? SignatureFormat.ssh.defaultPath(beside: path)
        do {
            let signer = try SSHSignatureVerifier(allowedSigners: allowedSigners, identities: identities)
                .signer(of: package, at: path, signature: file)
            return Signer(name: signer.identity, key: signer.key, release: signer.release)
        } catch let unknown as UnknownSigner where arguments.has(trust) {
            // Who named the signer can mend the request; a package that a policy does not trust is rejected.
            throw FormatError(file: file, reason: "is by nobody whom the policy names: \(unknown)")
        }
    }

    private static func check(
        _ package: AcceleratorPackage, at path: String, by key: String, _ arguments: Arguments, _ console: Console
    ) throws -> Signer {
        let file = arguments[signature] ?? SignatureFormat.oms.defaultPath(beside: path)
        guard Files.kind(of: file) != nil else {
            throw FormatError(file: path, reason: "is not signed: there is no \(file)")
        }
        let signature = try ModelSignature(try MappedFile(file).bytes, file: file)
        try OpenSSL().check(signature, file: file, publicKey: key)
        let statement = try ModelStatement(signature.payload, file: file)
        try package.check(against: statement, threads: console.threads)
        return Signer(name: "the key in \(key)", ignored: statement.ignoredPaths, release: statement.release)
    }

    private static func check(
        _ package: AcceleratorPackage, _ opened: OpenedPath, by policy: TrustPolicy, _ arguments: Arguments
    ) throws -> Signer {
        let path = opened.path
        let rule = try policy.rule(for: opened)
        if rule.allowsUnsigned {
            guard arguments.has(unsigned) else {
                throw FormatError(
                    file: path, reason: "needs no signature by the policy, which counts with --allow-unsigned only")
            }
            guard !package.isShared(in: opened) else {
                throw FormatError(
                    file: path,
                    reason:
                        "can be written to by another name (a hard link), wherever that lies; copy it, or have it signed"
                )
            }
            return Signer()
        }
        let signer = try check(
            package, at: path, identities: rule.identities, allowedSigners: policy.allowedSigners, arguments)
        try rule.check(signer.release, file: path)
        return signer
    }
}
