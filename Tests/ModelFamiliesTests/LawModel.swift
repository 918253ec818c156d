import AccelByteIO
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport

@testable import AccelModelFamilies

extension Fixtures {
    /// The folders with a configuration, and of the larger collection too where there is one.
    static var models: [String] {
        let folders = [path("")] + (sharedCases.map { [$0] } ?? [])
        return folders.flatMap { folder in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.sorted().map { "\(folder)/\($0)" }.filter {
                FileManager.default.fileExists(atPath: "\($0)/config.json")
            }
        }.map { URL(filePath: $0).path }.map { $0.replacing("\(URL(filePath: path("")).path)/", with: "") }
    }
}

/// A model whose configuration is changed.
struct LawModel: Sendable {
    let sound: Checkpoint
    let root: JSON
    let family: any ModelFamily

    /// - Parameter name: of a fixture, or a path.
    init(_ name: String) throws {
        sound = try Checkpoint(model: name.hasPrefix("/") ? name : Fixtures.path(name))
        root = sound.configuration.value ?? .null
        family = try Families.matching(sound.configuration)
    }

    var architecture: String {
        guard case .array(let names)? = root["architectures"], case .string(let name)? = names.first else { return "" }
        return name
    }

    func checkpoint(_ configuration: JSON) -> Checkpoint {
        sound.replacing(tensors: sound.tensors, configuration: JSONField(configuration, file: "config.json"))
    }

    /// The parts whose tensors the checkpoint has: some have no text side, or the generator alone.
    var storedParts: [String] {
        guard family is Kokoro else { return family.parts }
        return family.parts.filter { part in
            switch part {
            case "text_encoder", "prosody": sound.tensors.contains { $0.name.hasPrefix("bert_encoder.") }
            case "decoder_pre", "decoder_pre_bucket": sound.tensors.contains { $0.name.contains("F0_conv.") }
            default: true
            }
        }
    }

    func rejection(_ configuration: JSON) -> String? {
        do {
            _ = try family.model(for: checkpoint(configuration))
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// All parts, as text, with the bytes of tables.
    func outcome(_ configuration: JSON) throws -> [String] {
        try family.model(for: checkpoint(configuration), parts: storedParts).programs.map { program in
            let tables = try program.constants.filter { !$0.isWeight }.map { constant in
                "\(SHA256.digest(of: try constant.requireTensor().bytes))"
            }
            let dimensions = program.dimensions.map { "\($0)" }
            let interface = program.interface.json.text()
            return (["\(program)"] + tables + dimensions + [interface]).joined(separator: "\n")
        }
    }

    func pathsRead() throws -> Set<String> {
        let recorded = checkpoint(root).recording()
        var names = TensorNames(recorded)
        _ = try family.programs(for: recorded, parts: family.defaultParts, names: &names)
        return recorded.configuration.pathsRead
    }

    /// The paths of all objects of the configuration but those that nobody reads.
    func objects() -> [String] {
        let listed = type(of: family).listedFields
        return [""] + root.objects().filter { path in !listed.contains { $0.contains(path) } }
    }
}

extension JSON {
    /// The paths of objects in objects.
    func objects(at path: String = "") -> [String] {
        guard case .object(let members) = self else { return [] }
        return members.flatMap { member -> [String] in
            guard case .object = member.value else { return [] }
            let name = path.isEmpty ? member.key : "\(path).\(member.key)"
            return [name] + member.value.objects(at: name)
        }
    }

    /// All that is neither an object nor null, with its path.
    func scalars(at path: String = "") -> [(path: String, value: JSON)] {
        guard case .object(let members) = self else { return self == .null ? [] : [(path, self)] }
        return members.flatMap { $0.value.scalars(at: path.isEmpty ? $0.key : "\(path).\($0.key)") }
    }

    func inserting(_ member: Member, into path: String) -> JSON {
        changing(path) { value in
            guard case .object(let members)? = value else { return value }
            return .object(members + [member])
        }
    }

    func replacing(_ path: String, with other: JSON) -> JSON { changing(path) { _ in other } }

    private func changing(_ path: String, at place: String = "", _ change: (JSON?) -> JSON?) -> JSON {
        if path == place { return change(self) ?? self }
        guard case .object(var members) = self else { return self }
        for index in members.indices {
            let name = place.isEmpty ? members[index].key : "\(place).\(members[index].key)"
            if name == path || path.hasPrefix("\(name).") {
                members[index].value = members[index].value.changing(path, at: name, change)
            }
        }
        return .object(members)
    }

    /// Values that say something else.
    var others: [JSON] {
        switch self {
        case .null: [1]
        case .bool(let flag): [.bool(!flag)]
        case .integer(let number): [.integer(number * 2 + 1), .integer(max(1, number / 3))]
        case .number(let number): [.number(number / 8), .number(number * 8 + 0.1)]
        case .string(let text): [text == "gelu" ? "relu" : "gelu"]
        case .array(let elements): [.array(elements.map { $0.others[0] })]
        case .object: [[:]]
        }
    }
}
