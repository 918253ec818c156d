import AccelByteIO
import AccelPrograms
import AccelTensors

extension Manifest {
    /// The content of manifest.json. Its first member is the digest of the others; the property `digest` is ignored.
    public var text: String { SealedDocument.text(of: body) }

    /// The document without its digest.
    var body: JSON {
        [
            "format": ["major": .integer(Int64(major)), "minor": .integer(Int64(minor))],
            "features": [
                "required": .array(requiredFeatures.map(JSON.string)),
                "optional": .array(optionalFeatures.map(JSON.string)),
            ],
            "functions": .array(functions.map(\.json)),
            "files": .array(files.map { Self.json($0.name, $0.byteCount, $0.digest) }),
            "coverage": coverage.json,
            "provenance": provenance.json,
        ]
    }

    static func json(_ name: String, _ byteCount: Int, _ digest: Digest) -> JSON {
        ["name": .string(name), "bytes": .integer(Int64(byteCount)), "digest": .string(digest.description)]
    }
}

extension Manifest.Function {
    var json: JSON {
        [
            "name": .string(name),
            "part": .string(part),
            "shapes": .object(
                bindings.numbers.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .integer(Int64($0.value))) }),
            "inputs": .array(inputs.map(Self.json)),
            "outputs": .array(outputs.map(Self.json)),
            "state": .array(
                states.map { state in
                    [
                        "name": .string(state.name), "type": .string(state.elementType.rawValue),
                        "shape": .array(state.shape.dimensions.map { .integer(Int64($0)) }),
                        "initial": .number(state.initial),
                    ]
                }),
            "interface": interface.json,
        ]
    }

    private static func json(_ port: FrozenProgram.Port) -> JSON {
        [
            "name": .string(port.name),
            "type": .string(port.elementType.rawValue),
            "shape": .array(port.shape.dimensions.map { .integer(Int64($0)) }),
        ]
    }
}

extension CoverageSummary {
    var json: JSON {
        [
            "codecs": .array(
                shares.map {
                    [
                        "codec": .string($0.codec), "tensors": .integer(Int64($0.tensors)),
                        "weights": .integer(Int64($0.weights)), "bytes": .integer(Int64($0.byteCount)),
                    ]
                }),
            "exceptions": .integer(Int64(exceptions)),
            "unused": .integer(Int64(unused)),
        ]
    }
}

extension Provenance {
    var json: JSON {
        var members: [JSON.Member] = [
            .init("toolVersion", .string(toolVersion)),
            .init("family", .string(family)),
            .init("familyVersion", .integer(Int64(familyVersion))),
            .init("passes", Self.json(passVersions)),
            .init("codecs", Self.json(codecVersions)),
            .init("shapes", .array(shapes.map(JSON.string))),
            .init("recipe", recipe),
            .init("sources", .array(sources.map { Manifest.json($0.name, $0.byteCount, $0.digest) })),
        ]
        if let origin { members.append(.init("origin", .string(origin))) }
        if !parts.isEmpty { members.append(.init("parts", .array(parts.map(JSON.string)))) }
        if logits != .all { members.append(.init("logits", .string(logits.rawValue))) }
        if !remarks.isEmpty { members.append(.init("remarks", .array(remarks.map(JSON.string)))) }
        if !ignoredTensors.isEmpty {
            members.append(.init("ignoredTensors", .array(ignoredTensors.map(JSON.string))))
        }
        if states != .float32 { members.append(.init("states", .string(states.rawValue))) }
        return .object(members)
    }

    private static func json(_ versions: [String: Int]) -> JSON {
        .object(versions.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .integer(Int64($0.value))) })
    }
}
