import AccelByteIO
import Foundation
import TestSupport
import Testing

@testable import AccelTensors

private func write(_ text: String, to path: String) throws {
    try Files.makeFolder(Files.parentFolder(of: path) ?? ".")
    try Data(text.utf8).write(to: URL(filePath: path))
}

private func writeTensors(_ names: [String], to path: String) throws {
    try Files.makeFolder(Files.parentFolder(of: path) ?? ".")
    try SafetensorsWriter.write(names.map { StoredTensor(name: $0, floats: [1, 2], shape: [2]) }, to: path, as: .part)
}

/// The error that `body` throws, as an error of the given type.
private func failure<Failure: Error>(of body: () throws -> Void) throws -> Failure {
    let error = #expect(throws: (any Error).self) { try body() }
    return try #require(error as? Failure, "another error: \(String(describing: error))")
}

@Suite("checkpoints")
struct CheckpointTests {
    @Test("a folder gives its tensors by name, its configuration, and its assets sorted")
    func folder() throws {
        try withTemporaryFolder { folder in
            try writeTensors(["b", "a"], to: "\(folder)/model.safetensors")
            try writeTensors(["old"], to: "\(folder)/model.legacy_names.safetensors")
            for name in [
                "vocab.txt", "tokenizer.json", "1_Pooling/config.json", "2_Normalize/config.json", "modules.json",
                "README.md", "spiece.model", "pool/config.json", "notes/config.json",
            ] {
                try write("{}", to: "\(folder)/\(name)")
            }
            try write(#"{"hidden_size": 384}"#, to: "\(folder)/config.json")
            let checkpoint = try Checkpoint(model: folder)
            #expect(checkpoint.tensors.map(\.name) == ["a", "b"])
            #expect(checkpoint["b"]?.floats() == [1, 2])
            #expect(checkpoint["c"] == nil)
            #expect(try Checkpoint(model: "\(folder)/").folder == folder)
            #expect(try checkpoint.configuration["hidden_size"].int() == 384)
            #expect(try checkpoint.document("1_Pooling/config.json")?.members().isEmpty == true)
            #expect(try checkpoint.document("pool/config.json")?.members().isEmpty == true)
            #expect(try checkpoint.document("3_Dense/config.json") == nil)
            #expect(
                checkpoint.assets.map(\.name) == [
                    "1_Pooling/config.json", "2_Normalize/config.json", "config.json", "modules.json",
                    "pool/config.json", "spiece.model", "tokenizer.json", "vocab.txt",
                ])
            #expect(
                checkpoint.reader.sources.map(\.name)
                    == (checkpoint.assets.map(\.name) + ["model.safetensors"]).sorted())
            #expect(throws: FormatError.self) { try checkpoint.document("../config.json") }
        }
    }

    @Test("a single file takes the configuration beside it, or the one that is named")
    func singleFile() throws {
        try withTemporaryFolder { folder in
            try writeTensors(["a"], to: "\(folder)/x.safetensors")
            #expect(try !Checkpoint(model: "\(folder)/x.safetensors").configuration.exists)
            try write(#"{"n": 1}"#, to: "\(folder)/config.json")
            try write(#"{"n": 2}"#, to: "\(folder)/other.json")
            #expect(try Checkpoint(model: "\(folder)/x.safetensors").configuration["n"].int() == 1)
            let named = try Checkpoint(model: "\(folder)/x.safetensors", configuration: "\(folder)/other.json")
            #expect(try named.configuration["n"].int() == 2)
            #expect(named.assets.map(\.path) == ["\(folder)/other.json"])
        }
    }

    @Test("a folder without usable weights says what it has")
    func noWeights() throws {
        try withTemporaryFolder { folder in
            let none: RequestError = try failure { _ = try Checkpoint(model: folder) }
            #expect(none.exitStatus == .unavailable && none.description.contains("no safetensors file"))
            try write("x", to: "\(folder)/pytorch_model.bin")
            let pickle: RequestError = try failure { _ = try Checkpoint(model: folder) }
            #expect(pickle.exitStatus == .unavailable && pickle.description.contains("Python pickle"))
            try writeTensors(["a"], to: "\(folder)/a.safetensors")
            #expect(try Checkpoint(model: folder).tensors.count == 1)
            try writeTensors(["a"], to: "\(folder)/b.safetensors")
            let several: RequestError = try failure { _ = try Checkpoint(model: folder) }
            #expect(several.exitStatus == .usage && several.description.contains("a.safetensors, b.safetensors"))
            let missing: RequestError = try failure { _ = try Checkpoint(model: "\(folder)/nothing") }
            #expect(missing.exitStatus == .unavailable)
            for name in ["x.bin", "x.pt", "x.ckpt"] {
                try write("whatever it holds", to: "\(folder)/\(name)")
                let rejected: FormatError = try failure { _ = try Checkpoint(model: "\(folder)/\(name)") }
                #expect(rejected.reason.contains("Python pickle"))
            }
        }
    }

    @Test("shards give one list of tensors")
    func shards() throws {
        try withTemporaryFolder { folder in
            try writeTensors(["a", "c"], to: "\(folder)/1.safetensors")
            try writeTensors(["b"], to: "\(folder)/2.safetensors")
            let map = #"{"a": "1.safetensors", "b": "2.safetensors", "c": "1.safetensors"}"#
            let index = "\(folder)/model.safetensors.index.json"
            try write(#"{"metadata": {"total_size": 24}, "weight_map": \#(map)}"#, to: index)
            #expect(try Checkpoint(model: folder).tensors.map(\.name) == ["a", "b", "c"])
            #expect(
                try Checkpoint(model: index).files.map(\.path) == [
                    "\(folder)/1.safetensors", "\(folder)/2.safetensors",
                ])
            // The index decides what is read: it is a source too, and of no use in a package.
            let checkpoint = try Checkpoint(model: folder)
            #expect(
                checkpoint.reader.sources.map(\.name) == [
                    "1.safetensors", "2.safetensors", "model.safetensors.index.json",
                ])
            #expect(checkpoint.assets.isEmpty)
        }
    }

    @Test("an index that lies is rejected, with the field or tensor", arguments: Attack.shardIndexes)
    func indexAttack(attack: Attack) throws {
        try withTemporaryFolder { folder in
            try writeTensors(["a", "b"], to: "\(folder)/1.safetensors")
            try writeTensors(["b", "c"], to: "\(folder)/2.safetensors")
            try Files.makeFolder("\(folder)/folder.safetensors")
            try Data(attack.bytes).write(to: URL(filePath: "\(folder)/model.safetensors.index.json"))
            let error: FormatError = try failure { _ = try Checkpoint(model: folder) }
            guard case .rejected(let place, let words) = attack.verdict else { return }
            #expect(error.location == place, "\(error)")
            #expect(error.reason.contains(words), "\(error)")
        }
    }
}
