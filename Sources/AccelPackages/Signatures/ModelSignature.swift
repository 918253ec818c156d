public import AccelByteIO

/// A signature of OpenSSF's model signing, version 1: a Sigstore bundle around an in-toto statement that lists files and
/// their SHA-256. Whether it was made with a key, the caller has to find out (`signedBytes`, `signature`).
public struct ModelSignature: Sendable {
    public static let payloadType = "application/vnd.in-toto+json"
    static let bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"
    static let statementType = "https://in-toto.io/Statement/v1"
    static let predicateType = "https://model_signing/signature/v1.0"
    static let maximumBytes = 64 << 20

    /// The statement, as it was signed.
    public let payload: [UInt8]
    public let signature: [UInt8]
    /// SHA-256 of the public key in PEM, nil where the signature does not tell.
    public let keyHint: Digest?

    /// What a key signs: the statement, and what kind of thing it is (DSSE's pre-authentication encoding).
    public static func signedBytes(of payload: [UInt8]) -> [UInt8] {
        Array("DSSEv1 \(payloadType.utf8.count) \(payloadType) \(payload.count) ".utf8) + payload
    }
    public var signedBytes: [UInt8] { Self.signedBytes(of: payload) }

    public init(payload: [UInt8], signature: [UInt8], keyHint: Digest) {
        self.payload = payload
        self.signature = signature
        self.keyHint = keyHint
    }

    /// - Throws: `FormatError` for what is no bundle with one signature by a key.
    public init(_ bytes: ByteView, file: String) throws {
        guard bytes.count <= Self.maximumBytes else {
            throw FormatError(file: file, reason: "has \(bytes.count) bytes, which is too much for a signature")
        }
        let bundle = JSONField(try JSON.parse(bytes, file: file), file: file)
        try bundle["mediaType"].require(Self.bundleType)
        let envelope = bundle["dsseEnvelope"]
        try envelope["payloadType"].require(Self.payloadType)
        payload = try envelope["payload"].base64()
        let signatures = try envelope["signatures"].array()
        guard let only = signatures.first, signatures.count == 1 else {
            throw envelope["signatures"].error("expected one signature, found \(signatures.count)")
        }
        signature = try only["sig"].base64()
        let material = bundle["verificationMaterial"]
        guard material["publicKey"].exists else {
            throw material.error(
                "expected a signature by a key (publicKey); others are for model_signing or cosign to verify")
        }
        let hint = material["publicKey"]["hint"]
        keyHint = hint.exists ? try hint.digest() : nil
    }

    /// The bundle as it is written.
    public var text: String {
        let bundle: JSON = [
            "mediaType": .string(Self.bundleType),
            "verificationMaterial": [
                "publicKey": ["hint": keyHint.map { .string($0.description) } ?? .null], "tlogEntries": [],
            ],
            "dsseEnvelope": [
                "payload": .string(Base64.text(of: payload)), "payloadType": .string(Self.payloadType),
                "signatures": [["sig": .string(Base64.text(of: signature)), "keyid": ""]],
            ],
        ]
        return bundle.text()
    }
}

extension JSONField {
    fileprivate func require(_ text: String) throws {
        guard try string() == text else { throw error("expected \"\(text)\", found \"\(try string().prefix(80))\"") }
    }

    fileprivate func base64() throws -> [UInt8] {
        guard let bytes = Base64.bytes(of: try string()) else { throw error("is not base64") }
        return bytes
    }
}

/// What a `ModelSignature` states: files and their digests.
public struct ModelStatement: Equatable, Sendable {
    public struct Resource: Equatable, Sendable {
        public var name: String
        /// Plain SHA-256 of all bytes.
        public var digest: Digest
    }
    public var name: String
    public var resources: [Resource]
    /// Files that the signer left out.
    public var ignoredPaths: [String]

    init(name: String, resources: [Resource], ignoredPaths: [String]) {
        self.name = name
        self.resources = resources
        self.ignoredPaths = ignoredPaths
    }

    private var root: Digest {
        var hash = SHA256()
        for resource in resources { resource.digest.bytes.withUnsafeBytes { hash.update($0) } }
        return hash.finalize()
    }

    public var text: String {
        let statement: JSON = [
            "_type": .string(ModelSignature.statementType),
            "subject": [["name": .string(name), "digest": ["sha256": .string(root.description)]]],
            "predicateType": .string(ModelSignature.predicateType),
            "predicate": [
                "serialization": [
                    "method": "files", "hash_type": "sha256", "allow_symlinks": false,
                    "ignore_paths": .array(ignoredPaths.map { .string($0) }),
                ],
                "resources": .array(
                    resources.map {
                        [
                            "name": .string($0.name), "algorithm": "sha256", "digest": .string($0.digest.description),
                        ]
                    }),
            ],
        ]
        return statement.text()
    }

    /// - Throws: `FormatError` for another kind of statement, or one that contradicts itself.
    public init(_ payload: [UInt8], file: String) throws {
        let statement = JSONField(try JSON.parse(ByteView(payload), file: file), file: file)
        try statement["_type"].require(ModelSignature.statementType)
        try statement["predicateType"].require(ModelSignature.predicateType)
        let subjects = try statement["subject"].array()
        guard let subject = subjects.first, subjects.count == 1 else {
            throw statement["subject"].error("expected one subject, found \(subjects.count)")
        }
        name = try subject["name"].string()
        let serialization = statement["predicate"]["serialization"]
        try serialization["method"].require("files")
        try serialization["hash_type"].require("sha256")
        let ignored = serialization["ignore_paths"]
        ignoredPaths = ignored.exists ? try ignored.array().map { try $0.string() } : []
        resources = try statement["predicate"]["resources"].array().map {
            try $0["algorithm"].require("sha256")
            return Resource(name: try $0["name"].string(), digest: try $0["digest"].digest())
        }
        guard Set(resources.map(\.name)).count == resources.count else {
            throw statement["predicate"]["resources"].error("a file is listed twice")
        }
        let found = try subject["digest"]["sha256"].digest()
        guard found == root else {
            throw subject["digest"]["sha256"].error("is \(found), but the files that are listed have \(root)")
        }
    }
}
