import AccelByteIO
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport

@testable import AccelPackages

/// A package in memory, taken apart so that any field can be changed, and put together again with all digests made anew.
struct DecodedPackage {
    var functions: [FrozenProgram]
    var constants: [GraphConstant]
    var weights: WeightIndex
    /// Where true, the manifest's functions are made of `functions` again.
    var mirrorsFunctions = true
    var sourceMap: JSON
    /// Without its digest.
    var manifest: JSON
    /// By name, without `assets/`.
    var assets: [String: [UInt8]]
    var blobs: [[UInt8]]

    init(_ package: AcceleratorPackage) throws {
        func bytes(_ name: String) throws -> ByteView { try package.files.content(name) }
        functions = package.graph.functions
        constants = try GraphDecoder(bytes(PackageFormat.graphName), file: "graph.bin").constants
        weights = try WeightIndex(bytes(PackageFormat.weightsName), file: "weights.bin", blobs: package.blobs)
        sourceMap = try JSON.parse(bytes(PackageFormat.sourceMapName), file: "source-map.json")
        manifest = package.manifest.body
        blobs = package.blobs.map { $0.withBytes { Array($0) } }
        assets = Dictionary(
            uniqueKeysWithValues: try package.manifest.assetNames.map { name in
                (name, try bytes("assets/\(name)").withBytes { Array($0) })
            })
    }

    /// - Throws: what the encoder cannot express.
    func sealed() throws -> MemoryPackage {
        var files: [String: ByteView] = [:]
        files[PackageFormat.graphName] = try GraphEncoder.encode(functions, constants: constants)
        files[PackageFormat.weightsName] = weights.encoded
        files[PackageFormat.sourceMapName] = ByteView(Array(sourceMap.text().utf8))
        for (name, bytes) in assets { files["assets/\(name)"] = ByteView(bytes) }
        var digests = files.mapValues { TreeDigest.digest(of: $0) }
        for (index, blob) in blobs.enumerated() {
            files[PackageFormat.blobName(index)] = ByteView(blob)
            digests[PackageFormat.blobName(index)] = weights.sections.digest(ofBlob: index)
        }
        var document = manifest
        document.replace("files") { list in
            guard case .array(let entries) = list else { return list }
            let listed = Set(entries.compactMap { $0["name"]?.text })
            let all = entries.map { entry -> JSON in
                guard let name = entry["name"]?.text, let file = files[name], let digest = digests[name] else {
                    return entry
                }
                return Manifest.json(name, file.count, digest)
            }
            let added = files.keys.filter { !listed.contains($0) }.sorted()
            guard !added.isEmpty || Set(files.keys) != listed else { return .array(all) }
            let kept = all.filter { $0["name"]?.text.map { files[$0] != nil } ?? true }
            let new = added.map { Manifest.json($0, files[$0]?.count ?? 0, digests[$0] ?? Digest(bytes: [])) }
            return .array((kept + new).sorted { ($0["name"]?.text ?? "") < ($1["name"]?.text ?? "") })
        }
        if mirrorsFunctions {
            document.replace("functions") { _ in .array(functions.map { Manifest.Function($0).json }) }
        }
        files[PackageFormat.manifestName] = ByteView(Array(SealedDocument.text(of: document).utf8))
        return MemoryPackage(files: files)
    }

    /// Gives sections that were changed in the blobs their digests.
    mutating func hashSections() {
        for index in weights.sections.indices {
            let section = weights.sections[index]
            guard blobs.indices.contains(section.blob), section.offset >= 0,
                section.offset + section.byteCount <= blobs[section.blob].count
            else { continue }
            let content = blobs[section.blob][section.offset..<section.offset + section.byteCount]
            weights.sections[index].digest = TreeDigest.digest(of: ByteView(Array(content)))
        }
    }
}

/// The files of a package that lies nowhere.
struct MemoryPackage: PackageFiles {
    let path = "mutant"
    let files: [String: ByteView]

    func names() throws -> [String] { files.keys.sorted() }

    func content(_ name: String) throws -> ByteView {
        guard let content = files[name] else { throw FormatError(file: name, reason: "is missing") }
        return content
    }
}

extension JSON {
    var text: String? { if case .string(let text) = self { text } else { nil } }

    mutating func replace(_ key: String, _ change: (JSON) -> JSON) {
        guard case .object(var members) = self else { return }
        for index in members.indices where members[index].key == key {
            members[index].value = change(members[index].value)
        }
        self = .object(members)
    }

    /// The places of all values in it that are not the whole.
    var places: [[Int]] {
        let parts: [JSON] =
            switch self {
            case .array(let elements): elements
            case .object(let members): members.map(\.value)
            default: []
            }
        return parts.enumerated().flatMap { index, part in [[index]] + part.places.map { [index] + $0 } }
    }

    /// A value of it changed, or its member dropped or renamed.
    /// - Returns: nil where that changes nothing.
    func mutated(at place: ArraySlice<Int>, _ generator: inout SeededGenerator) -> JSON? {
        guard let index = place.first else { return mutatedValue(&generator) }
        switch self {
        case .array(var elements):
            if place.count == 1, Int.random(in: 0..<4, using: &generator) == 0 {
                if Bool.random(using: &generator) {
                    elements.remove(at: index)
                } else {
                    elements.append(elements[index])
                }
                return .array(elements)
            }
            guard let changed = elements[index].mutated(at: place.dropFirst(), &generator) else { return nil }
            elements[index] = changed
            return .array(elements)
        case .object(var members):
            if place.count == 1, Int.random(in: 0..<5, using: &generator) == 0 {
                if Bool.random(using: &generator) { members.remove(at: index) } else { members[index].key += "x" }
                return .object(members)
            }
            guard let changed = members[index].value.mutated(at: place.dropFirst(), &generator) else { return nil }
            members[index].value = changed
            return .object(members)
        default: return nil
        }
    }

    private func mutatedValue(_ generator: inout SeededGenerator) -> JSON? {
        let choice = Int.random(in: 0..<3, using: &generator)
        switch self {
        case .null: return .integer(1)
        case .bool(let flag): return .bool(!flag)
        case .integer(let number): return .integer([number &+ 1, number &- 1, number &* 2 &+ 64][choice])
        case .number(let number): return .number([number.nextUp, number * 1.001, 0][choice])
        case .string(let text):
            return .string([text + "x", String(text.dropLast()), Mutation.digit(of: text)][choice])
        case .array(let elements): return elements.count > 1 ? .array(elements.reversed()) : .array([])
        case .object(let members): return members.count > 1 ? .object(members.reversed()) : .object([])
        }
    }
}
