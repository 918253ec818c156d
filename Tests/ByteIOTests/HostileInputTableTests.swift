import AccelByteIO
import Foundation
import TestSupport
import Testing

@Suite("The corpus of hostile files")
struct HostileInputTableTests {
    private static let corpora: [(title: String, attacks: [Attack])] = [
        ("Safetensors files", Attack.safetensors),
        ("`model.safetensors.index.json`, beside two shards", Attack.shardIndexes),
        ("`config.json`, beside the weights of a small BERT", Attack.configurations),
        ("Zip archives", Attack.zip),
        ("Protocol Buffers messages", Attack.protobuf),
        ("`Manifest.json` of a Core ML package", Attack.coreMLManifests),
        ("`weight.bin` of a Core ML package", Attack.coreMLBlobs),
        ("GGUF files", Attack.gguf),
        ("Files of whisper.cpp", Attack.whisperCPP),
        ("`model.bin` of CTranslate2", Attack.ctranslate2),
        ("Quantized layers in safetensors files", Attack.quantized),
        ("Adapters of a small model", Attack.adapters),
        ("WAVE and AIFF files", Attack.sounds),
        ("PNG and JPEG files", Attack.pictures),
        ("SSH signatures", Attack.sshSignatures),
    ]

    static var table: String {
        let sections = corpora.map { title, attacks in
            let rows = attacks.map { "| \(cell($0.name)) | \(verdict($0.verdict)) |" }
            return (["## \(title)", "", "| file | verdict |", "|---|---|"] + rows).joined(separator: "\n")
        }
        return """
            # Hostile input

            Files that are broken, lie, or are odd but allowed, and what becomes of each: accepted, or rejected with exit status 4 and one
            sentence that has these words and names this place. Tests make each file and hold the readers to this table, every reader is
            also fuzzed from them, and `scripts/peers` checks that what is accepted here is accepted by the reference readers too
            (safetensors, Python's json and zipfile, coremltools).

            \(sections.joined(separator: "\n\n"))

            """
    }

    private static func cell(_ text: String) -> String {
        let shown = text.count > 60 ? "\(text.prefix(57))..." : text
        return shown.replacing("|", with: "\\|")
    }

    private static func verdict(_ verdict: Attack.Verdict) -> String {
        guard case .rejected(let place, let words) = verdict else { return "accepted" }
        let text =
            switch place {
            case nil: ""
            case .offset(let offset)?: ", byte \(offset)"
            case .line(let line, _)?: ", line \(line)"
            case .tensor(let name, _)?: ", tensor `\(name)`"
            case .field(let path)?: ", field `\(path)`"
            }
        return "rejected\(text): \(cell(words))"
    }

    @Test("What becomes of each file is what schemas/hostile-input.md says")
    func table() throws {
        let path = Fixtures.repository + "/schemas/hostile-input.md"
        if ProcessInfo.processInfo.environment["ACCELC_UPDATE"] != nil {
            try Self.table.write(toFile: path, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == Self.table)
    }

    @Test("Every file of a corpus has a name of its own, and what is rejected is rejected with a reason")
    func distinct() {
        for (title, attacks) in Self.corpora {
            #expect(Set(attacks.map(\.name)).count == attacks.count, "\(title)")
            for attack in attacks {
                if case .rejected(_, let words) = attack.verdict { #expect(!words.isEmpty, "\(title): \(attack.name)") }
            }
        }
    }
}
