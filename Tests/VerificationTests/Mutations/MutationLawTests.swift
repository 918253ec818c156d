import AccelPrograms
import Foundation
import TestSupport
import Testing

@testable import AccelVerification

@Suite("No field of a package can be changed without notice")
struct MutationLawTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let fixture: String
        let shapes: [String]
        let recipe: String
        var parts: [String] = []
        var states = StateStorage.float32
        var logits = LogitPositions.all
        var testDescription: String { fixture }

        static let all = [
            Case(fixture: "bert_base", shapes: ["batch=1,sequence=4"], recipe: "palette:bits=4,group=8"),
            Case(
                fixture: "qwen3_small", shapes: ["batch=1,tokens=3,cache=8", "batch=1,tokens=1,cache=8"],
                recipe: "int4"),
            Case(
                fixture: "gpt2_small", shapes: ["batch=1,tokens=3,cache=8", "batch=1,tokens=1,cache=8"],
                recipe: "int8", states: .float16),
            Case(
                fixture: "gpt2_small", shapes: ["batch=1,tokens=3,cache=8", "batch=1,tokens=1,cache=8"],
                recipe: "float32", states: .int8),
            Case(
                fixture: "whisper_small", shapes: ["batch=1,frames=8,tokens=1,cache=4"], recipe: "float16"),
            Case(fixture: "vit_tall", shapes: ["batch=1"], recipe: "int8"),
            Case(fixture: "wav2vec2_odd", shapes: ["batch=1,samples=400"], recipe: "sparse:target=0.5+int8"),
            Case(fixture: "clip_end", shapes: ["batch=1,sequence=4"], recipe: "nf4"),
            Case(fixture: "kokoro_small", shapes: ["batch=1,asr_frames=4,frames=8"], recipe: "affine:bits=4"),
            Case(fixture: "snac_plain", shapes: ["batch=1,frames=4"], recipe: "float32"),
            Case(fixture: "clip_end", shapes: ["batch=1"], recipe: "bfloat16", parts: ["vision"]),
            Case(fixture: "gpt2_small", shapes: ["batch=1,tokens=3,cache=8"], recipe: "int8", logits: .last),
        ]
    }

    /// Mutations of a subject: of each kind in turn, so that none is left out.
    private static func table(
        _ subject: Case, of allKinds: [Mutation] = Mutation.allCases, count: Int, seed: UInt64,
        stages: Set<Stage> = Set(Stage.allCases)
    ) throws -> MutationTable {
        let mutated = try MutationSubject(
            subject.fixture, shapes: subject.shapes, recipe: subject.recipe, parts: subject.parts,
            logits: subject.logits, states: subject.states)
        let control = try mutated.outcome(of: mutated.package, stages)
        #expect(control == .missed, "a right package is \(control)")
        var generator = SeededGenerator(seed: seed)
        var table = MutationTable()
        let kinds = allKinds.shuffled(using: &generator)
        var turn = 0
        while table.count < count, turn < 40 * count {
            let mutation = kinds[turn % kinds.count]
            turn += 1
            guard
                let (change, outcome) = try mutated.trial(
                    of: mutation, &generator, stages: stages)
            else { continue }
            table.record(mutation, change, outcome, in: subject.fixture)
        }
        return table
    }

    /// ACCELC_MUTATIONS=2000 tries so many over all families (scripts/mutations.sh).
    private static let asked = ProcessInfo.processInfo.environment["ACCELC_MUTATIONS"].flatMap { Int($0) }
    private static let seed = ProcessInfo.processInfo.environment["ACCELC_SEED"].flatMap { UInt64($0) } ?? 1

    @Test("every mutation is rejected, caught or proved equal", arguments: Case.all)
    func law(subject: Case) throws {
        // Each subject begins with other kinds.
        let place = UInt64(Case.all.firstIndex { $0.fixture == subject.fixture && $0.parts == subject.parts } ?? 0)
        let count = Self.asked.map { ($0 + Case.all.count - 1) / Case.all.count } ?? 5
        let table = try Self.table(subject, count: count, seed: Self.seed + place)
        #expect(table.count == count)
        #expect(table.missed == [])
        // A few mutations may all be rejected on opening; of one of each kind and more, structure catches its share.
        if count >= Mutation.allCases.count { #expect(table.total(.caught(.structure)) >= count / 5) }
        if Self.asked != nil { print("\(subject.fixture) \(subject.recipe), seed \(Self.seed)\n\(table.text)") }
    }

    @Test("without the comparison of structure some are missed: the law can fail")
    func control() throws {
        let table = try Self.table(
            Case.all[0], of: [.provenance, .asset, .nodeLabel, .attribute, .sourceMap], count: 15, seed: 1,
            stages: Set(Stage.allCases).subtracting([.structure]))
        #expect(table.missed.count > 5, "\(table.text)")
    }
}
