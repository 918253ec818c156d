public import AccelByteIO

/// A signature of OpenSSF Model Signing, version 1: a Sigstore bundle with an in-toto statement that lists files with
/// their SHA-256. The caller has to verify it with a key (`signedBytes`, `signature`).
public struct ModelSignature: Sendable {
    /// The media type of the statement.
    public static let payloadType = "application/vnd.in-toto+json"
    static let bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"
    static let statementType = "https://in-toto.io/Statement/v1"
    static let predicateType = "https://model_signing/signature/v1.0"
    static let maximumBytes = 64 << 20

    /// The signed statement.
    public let payload: [UInt8]
    /// The signature of `signedBytes`.
    public let signature: [UInt8]
    /// SHA-256 of the public key in PEM; nil if the signature does not state it.
    public let keyHint: Digest?

    /// Returns the bytes that a key signs: the statement with its media type (DSSE pre-authentication encoding).
    public static func signedBytes(of payload: [UInt8]) -> [UInt8] {
        Array("DSSEv1 \(payloadType.utf8.count) \(payloadType) \(payload.count) ".utf8) + payload
    }
    /// The bytes that the key has signed.
    public var signedBytes: [UInt8] { Self.signedBytes(of: payload) }

    /// Creates a signature of a statement.
    public init(payload: [UInt8], signature: [UInt8], keyHint: Digest) {
        self.payload = payload
        self.signature = signature
        self.keyHint = keyHint
    }

    /// Reads a bundle.
    /// - Throws: `FormatError` if it is not a bundle with one signature by a key.
    public init(_ bytes: ByteView, file: String) throws {
        guard bytes.count <= Self.maximumBytes else {
            throw FormatError(file: file, reason: "has \(bytes.count) bytes, more than the limit for signatures")
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

    /// The bundle as text.
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

/// The statement of a `ModelSignature`: files with their digests.
public struct ModelStatement: Equatable, Sendable {
    /// A file of the model.
    public struct Resource: Equatable, Sendable {
        /// The path in the model.
        public var name: String
        /// SHA-256 of all bytes.
        public var digest: Digest
    }
    /// The name of the model.
    public var name: String
    /// The files, sorted by name.
    public var resources: [Resource]
    /// Files that the signer excluded.
    public var ignoredPaths: [String]
    /// The model that the package was signed for: a field of accelc's, which other tools ignore.
    public var release: SignedRelease

    init(name: String, resources: [Resource], ignoredPaths: [String], release: SignedRelease = .unstated) {
        self.name = name
        self.resources = resources
        self.ignoredPaths = ignoredPaths
        self.release = release
    }

    private static let releaseKey = "accelc_release"

    private var root: Digest {
        var hash = SHA256()
        for resource in resources { resource.digest.bytes.withUnsafeBytes { hash.update($0) } }
        return hash.finalize()
    }

    /// The statement as text.
    public var text: String {
        let serialization: JSON = [
            "method": "files", "hash_type": "sha256", "allow_symlinks": false,
            "ignore_paths": .array(ignoredPaths.map { .string($0) }),
        ]
        let files = resources.map { resource -> JSON in
            [
                "name": .string(resource.name), "algorithm": "sha256", "digest": .string(resource.digest.description),
            ]
        }
        var predicate = [
            JSON.Member("serialization", serialization), JSON.Member("resources", .array(files)),
        ]
        if release != .unstated { predicate.append(JSON.Member(Self.releaseKey, .object(release.members))) }
        let statement: JSON = [
            "_type": .string(ModelSignature.statementType),
            "subject": [["name": .string(name), "digest": ["sha256": .string(root.description)]]],
            "predicateType": .string(ModelSignature.predicateType),
            "predicate": .object(predicate),
        ]
        return statement.text()
    }

    /// Reads a statement.
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
        let stated = statement["predicate"][Self.releaseKey]
        if stated.exists {
            try stated.rejectMembers(otherThan: ["name", "version"])
            release = try SignedRelease(stated)
        } else {
            release = .unstated
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
