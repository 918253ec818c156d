public import AccelByteIO
import AccelPrograms
import AccelTensors

extension Manifest {
    /// Limits of a manifest; beyond them it is rejected.
    static let limits = JSON.Limits(bytes: 8 << 20, depth: 32, values: 1 << 18)

    /// Reads and checks manifest.json.
    /// - Throws: `FormatError`; for an unknown version or feature it names a tool that can read the package.
    public init(_ bytes: ByteView, file: String) throws {
        let document = JSONField(try JSON.parse(bytes, file: file, limits: Self.limits), file: file)
        try Self.requireKnownVersion(document)
        let digest = try SealedDocument.checkedDigest(of: bytes, file: file)
        try self.init(parsing: document, digest: digest)
    }

    private static func requireKnownVersion(_ document: JSONField) throws {
        let major = try document["format"]["major"].int(in: 0...Int.max)
        let minor = try document["format"]["minor"].int(in: 0...Int.max)
        guard major >= PackageFormat.major else {
            throw document["format"]["major"].error(
                "this package has format \(major).\(minor), which accelc \(Tool.version) no longer reads: "
                    + "convert the model again")
        }
        guard major == PackageFormat.major else {
            let writer = try? document["provenance"]["toolVersion"].string()
            throw document["format"]["major"].error(
                "this package has format \(major).\(minor), and accelc \(Tool.version) reads \(PackageFormat.major).x; "
                    + "read it with accelc \(writer.map { "\($0) (which wrote it)" } ?? "of the version that wrote it")"
            )
        }
    }

    /// Reads a document of a known version. `digest` is not checked.
    package init(parsing document: JSONField, digest: Digest) throws {
        self.digest = digest
        major = try document["format"]["major"].int(in: PackageFormat.major...PackageFormat.major)
        minor = try document["format"]["minor"].int(in: 0...1 << 20)
        let strict = minor <= PackageFormat.minor
        if strict {
            try document.rejectMembers(otherThan: [
                "digest", "format", "features", "functions", "files", "coverage", "provenance",
            ])
        }
        requiredFeatures = try document["features"]["required"].array().map { try $0.string() }
        optionalFeatures = try document["features"]["optional"].array().map { try $0.string() }
        provenance = try Provenance(parsing: document["provenance"])
        if let unknown = requiredFeatures.first(where: { PackageFormat.Feature(rawValue: $0) == nil }) {
            throw document["features"]["required"].error(
                "this package needs the feature \"\(unknown)\", which accelc \(Tool.version) does not have; "
                    + "read it with accelc \(provenance.toolVersion) or later")
        }
        functions = try document["functions"].array().map { try Function(parsing: $0, strict: strict) }
        files = try document["files"].array().map { try File(parsing: $0, strict: strict) }
        coverage = try CoverageSummary(parsing: document["coverage"])
        try checkFileNames(document["files"])
        try checkLinks(document["functions"])
    }

    /// Checks that every link refers to an output of a function of its part.
    private func checkLinks(_ field: JSONField) throws {
        for link in functions.flatMap(\.interface.links) {
            let makers = functions.filter { $0.part == link.part }
            guard makers.contains(where: { $0.outputs.contains { $0.name == link.output } }) else {
                throw field.error(
                    "the input \(quoted(link.input)) has a link to \(quoted(link.output)) of \(quoted(link.part)), "
                        + "which is not an output of the package")
            }
        }
    }

    private func checkFileNames(_ field: JSONField) throws {
        guard zip(files, files.dropFirst()).allSatisfy({ $0.name < $1.name }) else {
            throw field.error("the files are not sorted by name, or one is listed twice")
        }
        var names = FileNames()
        for file in files {
            if let flaw = names.insert(file.name) { throw field.error(flaw) }
        }
        for (index, blob) in blobs.enumerated() where blob.name != PackageFormat.blobName(index) {
            throw field.error("expected the blob \(PackageFormat.blobName(index)), found \(blob.name)")
        }
        for name in PackageFormat.tableNames where file(name) == nil { throw field.error("\(name) is not listed") }
    }
}

extension Manifest.File {
    init(parsing field: JSONField, strict: Bool) throws {
        name = try field["name"].string()
        byteCount = try field["bytes"].int(in: 0...1 << 50)
        digest = try field["digest"].digest()
        guard PackageFormat.isSafeName(name) else {
            throw field["name"].error("\"\(name.prefix(300))\" is not a valid name in a package")
        }
        let isKnown =
            PackageFormat.tableNames.contains(name)
            || name.hasPrefix("weights-") || name.hasPrefix(PackageFormat.assetsFolder + "/")
        guard isKnown || (!strict && name != PackageFormat.manifestName && name != PackageFormat.reportName) else {
            throw field["name"].error("\"\(name)\" is not a file of this format")
        }
    }
}

extension Manifest.Function {
    init(parsing field: JSONField, strict: Bool) throws {
        name = try field["name"].string()
        part = try field["part"].string()
        var numbers: [String: Int] = [:]
        for (key, value) in try field["shapes"].members() { numbers[key] = try value.int(in: 1...1 << 40) }
        bindings = ShapeBindings(numbers)
        inputs = try field["inputs"].array().map(Self.port)
        outputs = try field["outputs"].array().map(Self.port)
        states = try field["state"].array().map(Self.state)
        interface = try Interface(parsing: field["interface"], isLater: !strict)
        do { try interface.check(ports, isLater: !strict) } catch let error as ShapeError {
            throw field["interface"].error(error.description)
        }
    }

    /// The inputs, states and outputs, as the rules of roles check them.
    private var ports: [Interface.Port] {
        func port(_ side: RoleRule.Side, _ port: FrozenProgram.Port) -> Interface.Port {
            Interface.Port(side, port.name, TensorType(port.elementType, shape: port.shape))
        }
        return inputs.map { port(.input, $0) } + states.map { port(.state, $0.port) }
            + outputs.map { port(.output, $0) }
    }

    private static func state(_ field: JSONField) throws -> FrozenProgram.State {
        let port = try port(field)
        return FrozenProgram.State(
            name: port.name, elementType: port.elementType, shape: port.shape, initial: try field["initial"].double())
    }

    private static func port(_ field: JSONField) throws -> FrozenProgram.Port {
        let shape = Shape(try field["shape"].array().map { try $0.int(in: 0...PackageFormat.maximumElements) })
        guard PackageFormat.fits(shape) else { throw field["shape"].error("\(shape) is too large") }
        return FrozenProgram.Port(
            name: try field["name"].string(), elementType: try field["type"].elementType(), shape: shape)
    }
}

extension CoverageSummary {
    init(parsing field: JSONField) throws {
        let counts = 0...1 << 50
        shares = try field["codecs"].array().map {
            Share(
                codec: try $0["codec"].string(), tensors: try $0["tensors"].int(in: counts),
                weights: try $0["weights"].int(in: counts), byteCount: try $0["bytes"].int(in: counts))
        }
        guard shares.count <= 4096 else { throw field["codecs"].error("more than 4096 codecs") }
        exceptions = try field["exceptions"].int(in: counts)
        unused = try field["unused"].int(in: counts)
    }
}

extension Provenance {
    private static func logits(_ field: JSONField) throws -> LogitPositions {
        guard field.exists else { return .all }
        guard let positions = LogitPositions(rawValue: try field.string()), positions != .all else {
            throw field.error("expected \"\(LogitPositions.last.rawValue)\"")
        }
        return positions
    }

    init(parsing field: JSONField) throws {
        func versions(_ name: String) throws -> [String: Int] {
            var versions: [String: Int] = [:]
            for (name, version) in try field[name].members() { versions[name] = try version.int(in: 1...1 << 30) }
            return versions
        }
        var states = StateStorage.float32
        if field["states"].exists {
            guard let known = StateStorage(rawValue: try field["states"].string()), known != .float32 else {
                let words = StateStorage.allCases.filter { $0 != .float32 }.map(\.rawValue)
                throw field["states"].error("expected \(words.joined(separator: " or "))")
            }
            states = known
        }
        self.init(
            sources: try field["sources"].array().map {
                Source(
                    name: try $0["name"].string(), byteCount: try $0["bytes"].int(in: 0...Int.max),
                    digest: try $0["digest"].digest())
            },
            origin: field["origin"].exists ? try field["origin"].string() : nil,
            family: try field["family"].string(),
            familyVersion: try field["familyVersion"].int(in: 1...1 << 30), passVersions: try versions("passes"),
            parts: field["parts"].exists ? try field["parts"].array().map { try $0.string() } : [],
            logits: try Self.logits(field["logits"]), recipe: field["recipe"].value ?? .null,
            shapes: try field["shapes"].array().map { try $0.string() },
            remarks: field["remarks"].exists ? try field["remarks"].array().map { try $0.string() } : [],
            ignoredTensors: field["ignoredTensors"].exists
                ? try field["ignoredTensors"].array().map { try $0.string() } : [],
            states: states,
            toolVersion: try field["toolVersion"].string(), codecVersions: try versions("codecs"))
    }
}
