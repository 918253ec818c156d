import AccelByteIO
import AccelModelFamilies
import AccelTensors
import Foundation
import TestSupport

/// A checkpoint of the fixtures with something changed, in a folder of its own.
struct ChangedCheckpoint {
    var configuration: [JSON.Member]
    var tensors: [StoredTensor]
    /// More files, by name: at first the modules of a sentence encoder.
    var files: [String: String] = [:]

    init(_ fixture: String) throws {
        let checkpoint = try Checkpoint(model: Fixtures.path(fixture))
        configuration = try checkpoint.configuration.members().compactMap { key, field in
            field.value.map { JSON.Member(key, $0) }
        }
        tensors = checkpoint.tensors
        for asset in checkpoint.assets where asset.name == "modules.json" || asset.name.hasSuffix("/config.json") {
            files[asset.name] = String(decoding: asset.content.withBytes { Array($0) }, as: UTF8.self)
        }
    }

    /// Sets a field of config.json; nil removes it.
    mutating func set(_ key: String, _ value: JSON?) {
        configuration.removeAll { $0.key == key }
        if let value { configuration.append(JSON.Member(key, value)) }
    }

    func model(ignoredTensors: [String] = []) throws -> FamilyModel {
        try withCheckpoint { try Families.matching($0.configuration).model(for: $0, ignoredTensors: ignoredTensors) }
    }

    /// Writes it and opens it.
    func withCheckpoint<Result>(_ body: (Checkpoint) throws -> Result) throws -> Result {
        try withTemporaryFolder { folder in
            var files = files
            files["config.json"] = JSON.object(configuration).text()
            for (name, text) in files {
                let file = URL(filePath: folder).appending(path: name)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(text.utf8).write(to: file)
            }
            try SafetensorsWriter.write(tensors, to: "\(folder)/model.safetensors", as: .part)
            return try body(try Checkpoint(model: folder))
        }
    }

    /// What building it throws, without the folder's path; nil when it is built.
    func rejection() -> String? {
        do {
            _ = try model()
            return nil
        } catch {
            return "\(error)".replacing(/^.*accelc-test-[0-9A-F-]*\/?/, with: "")
        }
    }
}
