public import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The differences between two packages.
public struct PackageDiff: Equatable, Sendable {
    /// One difference. A side that lacks the subject is empty.
    public struct Difference: Hashable, Sendable {
        /// The kind of subject.
        public enum Subject: String, Sendable, CaseIterable {
            /// The bytes of all weights, or of all files.
            case size
            /// A function: its ports and its nodes.
            case function
            /// A weight: its encoding and its bytes.
            case weight
            /// A field of the provenance.
            case provenance
            /// A file that is passed through.
            case asset
            /// The format version or a feature.
            case format
            /// A rule or another member of a recipe that stands alone.
            case recipe
        }
        /// The kind of subject that differs.
        public var subject: Subject
        /// The name of the function, tensor or file, or the field of the provenance.
        public var name: String
        /// The description in the first package.
        public var left: String
        /// The description in the second package.
        public var right: String
    }

    /// The differences, sorted by subject and name. Empty if the packages are equal in all of these.
    public var differences: [Difference] = []
    /// The plural noun for the compared objects.
    private var things = "packages"

    /// Compares the facts of two models, by subject and name.
    public init(
        _ left: [Difference.Subject: [String: String]], _ right: [Difference.Subject: [String: String]], things: String
    ) {
        self.things = things
        for subject in Difference.Subject.allCases { compare(subject, left[subject] ?? [:], right[subject] ?? [:]) }
    }

    /// Compares two packages; equal digests need no further reading.
    /// - Throws: `FormatError` if a source map is corrupt.
    public init(_ left: AcceleratorPackage, _ right: AcceleratorPackage) throws {
        guard left.digest != right.digest else { return }
        compare(.size, try Self.sizes(left), try Self.sizes(right))
        compare(.function, try Self.functions(left), try Self.functions(right))
        compare(.weight, try Self.weights(left), try Self.weights(right))
        compare(.provenance, Self.provenance(left), Self.provenance(right))
        let recipes = [left, right].map { RecipeFacts(of: $0.manifest.provenance.recipe) }
        if let order = recipes[0].orderDifference(from: recipes[1]) {
            differences.append(
                Difference(
                    subject: .provenance, name: "recipe order of rules", left: "\(order.own) first",
                    right: "\(order.other) first"))
        }
        compare(.asset, Self.assets(left), Self.assets(right))
        compare(.format, Self.format(left), Self.format(right))
    }

    /// Compares two recipes, as documents.
    public init(recipes left: JSON, _ right: JSON) {
        things = "recipes"
        let recipes = [left, right].map { RecipeFacts(of: $0) }
        func facts(_ recipe: RecipeFacts) -> [String: String] {
            Dictionary(recipe.values.map { (Self.bare($0.key), $0.value) }) { first, _ in first }
        }
        compare(.recipe, facts(recipes[0]), facts(recipes[1]))
        if let order = recipes[0].orderDifference(from: recipes[1]) {
            differences.append(
                Difference(
                    subject: .recipe, name: "order of rules", left: "\(Self.bare(order.own)) first",
                    right: "\(Self.bare(order.other)) first"))
        }
    }

    /// Returns the name of a recipe's member without the word that sets it apart in a package.
    private static func bare(_ name: String) -> String {
        let word = "recipe "
        return name.hasPrefix(word) ? String(name.dropFirst(word.count)) : name
    }

    private mutating func compare(
        _ subject: Difference.Subject, _ left: [String: String], _ right: [String: String]
    ) {
        for name in Set(left.keys).union(right.keys).sortedByNumbers() where left[name] != right[name] {
            differences.append(
                Difference(subject: subject, name: name, left: left[name] ?? "", right: right[name] ?? ""))
        }
    }

    /// The differences as text: subject, name, and both sides. Those that are the same but for numbers in their names, and
    /// for digests, share a line.
    public var text: String {
        if differences.isEmpty { return "the \(things) are the same\n" }
        return FoldedNames.all(differences, name: \.name, kind: \.withoutDigests).compactMap { group -> String? in
            guard let first = group.elements.first else { return nil }
            let sides = (group.elements.count == 1 ? first : first.withoutDigests).sides
            return "\(first.subject.rawValue) \(group.name): \(sides)\n"
        }.joined()
    }

    /// The differences as a JSON document.
    public var json: JSON {
        .array(
            differences.map {
                [
                    "subject": .string($0.subject.rawValue), "name": .string($0.name), "left": .string($0.left),
                    "right": .string($0.right),
                ]
            })
    }

    /// Returns the sizes of the weights and of all files as facts, by name.
    public static func sizes(weights: Int, files: Int?) -> [String: String] {
        let all = files.map { ["all files": $0] } ?? [:]
        return all.merging(["weights": weights]) { first, _ in first }.mapValues { "\(Wording.grouped($0)) bytes" }
    }

    private static func sizes(_ package: AcceleratorPackage) throws -> [String: String] {
        sizes(weights: package.manifest.coverage.shares.reduce(0) { $0 + $1.byteCount }, files: try package.byteCount)
    }

    private static func functions(_ package: AcceleratorPackage) throws -> [String: String] {
        func list(_ ports: [FrozenProgram.Port]) -> String {
            ports.map { "\($0.name) \($0.elementType.rawValue)\($0.shape)" }.joined(separator: ", ")
        }
        return try Dictionary(
            package.graph.functions.map { function in
                let interface = ByteView(Array(function.program.interface.json.text().utf8))
                let digest = short(SHA256.digest(of: try GraphEncoder.encode(alone: function)))
                return (
                    function.functionName,
                    "(\(list(function.inputs))) -> (\(list(function.outputs))), \(function.program.nodes.count) nodes, "
                        + "\(digest), interface \(short(SHA256.digest(of: interface)))"
                )
            }
        ) { first, _ in first }
    }

    private static func weights(_ package: AcceleratorPackage) throws -> [String: String] {
        let stored = try package.coverage.map { entry in
            let tensor = entry.tensor
            let digest = short(SHA256.digest(of: ByteView(tensor.sections.flatMap { SHA256.digest(of: $0).bytes })))
            let bits = (tensor.bitsPerWeight * 1000).rounded() / 1000
            return (
                tensor.name,
                "\(tensor.elementType.rawValue)\(tensor.shape) as \(tensor.codec.specification), \(bits) bits, \(digest)"
                    + entry.origins.map { ", \($0.key) \($0.value.text())" }.joined()
            )
        }
        let unused = try package.unusedTensors.map { ($0.name, "unused: \($0.reason)") }
        return Dictionary(stored + unused) { first, _ in first }
    }

    private static func provenance(_ package: AcceleratorPackage) -> [String: String] {
        let provenance = package.manifest.provenance
        var fields = [
            "origin": provenance.origin ?? "",
            "family": provenance.family,
            "family version": "\(provenance.familyVersion)",
            "passes": ResultVersions.text(provenance.passVersions),
            "parts": provenance.parts.joined(separator: " "),
            "shapes": provenance.shapes.joined(separator: " "),
            "remarks": provenance.remarks.joined(separator: "; "),
            "logits": provenance.logits.rawValue,
            "ignored tensors": provenance.ignoredTensors.joined(separator: "; "),
            "states": provenance.states.rawValue,
            "tool version": provenance.toolVersion,
            "codecs": ResultVersions.text(provenance.codecVersions),
        ]
        fields.merge(RecipeFacts(of: provenance.recipe).values) { first, _ in first }
        for source in provenance.sources {
            fields["source \(source.name)"] = "\(source.byteCount) bytes, \(short(source.digest))"
        }
        return fields
    }

    private static func assets(_ package: AcceleratorPackage) -> [String: String] {
        let files = package.manifest.files.filter { $0.name.hasPrefix(PackageFormat.assetsFolder + "/") }
        return Dictionary(files.map { ($0.name, "\($0.byteCount) bytes, \(short($0.digest))") }) { first, _ in first }
    }

    private static func format(_ package: AcceleratorPackage) -> [String: String] {
        let manifest = package.manifest
        return [
            "version": "\(manifest.major).\(manifest.minor)",
            "required features": manifest.requiredFeatures.joined(separator: " "),
            "optional features": manifest.optionalFeatures.joined(separator: " "),
        ]
    }

    private static func short(_ digest: Digest) -> String { String(digest.description.prefix(16)) }
}

extension PackageDiff.Difference {
    fileprivate var sides: String {
        switch (left, right) {
        case (let left, ""): "only on the left: \(left)"
        case ("", let right): "only on the right: \(right)"
        case (let left, let right) where left == right: "\(left), with other bytes"
        case (let left, let right): "\(left) -> \(right)"
        }
    }

    /// The same without the name, and without the digests at the ends of both sides.
    fileprivate var withoutDigests: Self {
        func text(_ side: String) -> String {
            // Swift's own function for this brings 1.4 MB of regular expressions into libaccel.
            var (parts, start) = ([Substring](), side.startIndex)
            for index in side.indices where side[index...].hasPrefix(", ") {
                parts.append(side[start..<index])
                start = side.index(index, offsetBy: 2)
            }
            return (parts + [side[start...]]).filter { !$0.isEmpty && !($0.count == 16 && $0.allSatisfy(\.isHexDigit)) }
                .joined(separator: ", ")
        }
        return Self(subject: subject, name: "", left: text(left), right: text(right))
    }
}
