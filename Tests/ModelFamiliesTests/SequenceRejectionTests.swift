import Accel
import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@Suite("Sequences that cannot go through a package")
struct SequenceRejectionTests {
    private static func rejection(
        _ fixture: String, _ numbers: [String: Int], blocks: [Int], cache: Int, _ tensors: [StoredTensor],
        function: String? = nil, generating: Int = 0
    ) throws -> String {
        let model = try BlockModel(
            try ParityCase(folder: Fixtures.path(fixture)).model().programs, numbers, blocks: blocks, cache: cache)
        let error = #expect(throws: RequestError.self) {
            try RunPlan(
                model.program, FunctionInputs(tensors, file: "f"), function: function, generating: generating)
        }
        return error.map { ([$0.description] + $0.diagnostic.candidates).joined(separator: "; ") } ?? ""
    }

    @Test("a cache that is too short, and blocks that do not add up, are rejected with what there is")
    func blocks() throws {
        let ids = tokens(1, 9, below: 47)
        let short = try Self.rejection("qwen3_small", ["batch": 1], blocks: [4, 1], cache: 8, [ids])
        #expect(short.contains("9 tokens") && short.contains("blocks of 4 or 1 into a cache of 8"), "\(short)")
        let generated = try Self.rejection(
            "qwen3_small", ["batch": 1], blocks: [4, 1], cache: 12, [ids], generating: 5)
        #expect(generated.contains("need a cache of 13 positions"), "\(generated)")
        let late = StoredTensor(name: "position", integers: [13], shape: [1])
        let alone = try Self.rejection(
            "qwen3_small", ["batch": 1], blocks: [4], cache: 16, [tokens(1, 3, below: 47), late])
        #expect(alone.contains("\"position\" is 13, and the file has no caches of the 13 tokens before"), "\(alone)")
        let cache = StoredTensor(
            name: "k.0", floats: [Float](repeating: 0, count: 2 * 16 * 12), shape: [1, 2, 16, 12])
        let odd = try Self.rejection(
            "qwen3_small", ["batch": 1], blocks: [4], cache: 16, [tokens(1, 3, below: 47), late, cache])
        #expect(odd.contains("blocks of 4 into a cache of 16"), "\(odd)")
        let unsteady = try Self.rejection("qwen3_small", ["batch": 1], blocks: [9], cache: 16, [ids], generating: 2)
        #expect(
            unsteady.hasSuffix("; batch=1,cache=16,tokens=9; batch=1,cache=16,tokens=1"),
            "\(unsteady)")
        let negative = StoredTensor(name: "position", integers: [-1], shape: [1])
        #expect(
            try Self.rejection("qwen3_small", ["batch": 1], blocks: [1], cache: 16, [ids, negative]).contains(
                "negative"))
        let far = StoredTensor(name: "position", integers: [.max], shape: [1])
        #expect(
            try Self.rejection("qwen3_small", ["batch": 1], blocks: [1], cache: 16, [ids, far, cache])
                .contains("positions"))
    }

    @Test("tensors that nothing reads, and states of another shape, are rejected")
    func tensors() throws {
        let ids = tokens(1, 9, below: 47)
        let state = StoredTensor(name: "k.0", floats: [1], shape: [1])
        let wrong = try Self.rejection("qwen3_small", ["batch": 1], blocks: [1], cache: 16, [ids, state])
        #expect(wrong.contains("\"k.0\": expected F32[1,2,16,12], found F32[1]"), "\(wrong)")
        let unknown = StoredTensor(name: "positoin", integers: [0], shape: [1])
        #expect(
            try Self.rejection("qwen3_small", ["batch": 1], blocks: [1], cache: 16, [ids, unknown])
                .contains("did you mean \"position\"?"))
    }

    @Test("a decoder whose states of the encoder nothing sets does not run on zeros")
    func encoder() throws {
        let numbers = ["batch": 1, "frames": 26]
        let ids = tokens(1, 5, below: 47).renamed("decoder_input_ids")
        let without = try Self.rejection("whisper_small", numbers, blocks: [4, 1], cache: 14, [ids])
        #expect(
            without.contains("reads the state \"cross_k.0\", which nothing sets")
                && without.contains("\"input_features\" F32[1,10,26]"), "\(without)")
        let long = StoredTensor(
            name: "input_features", floats: [Float](repeating: 0, count: 500), shape: [1, 10, 50])
        let wrong = try Self.rejection("whisper_small", numbers, blocks: [4, 1], cache: 14, [ids, long])
        #expect(wrong.contains("expected F32[1,10,26], found F32[1,10,50]"), "\(wrong)")
        // Without the part that makes the states, the encoder's inputs fit, and lead nowhere.
        let features = StoredTensor(
            name: "input_features", floats: [Float](repeating: 0, count: 260), shape: [1, 10, 26])
        let model = try BlockModel(
            try ParityCase(folder: Fixtures.path("whisper_small")).model().programs, numbers, blocks: [4, 1], cache: 14)
        var parts = model.program
        parts.functions.removeAll { $0.interface.role == .crossKeysAndValues }
        let unmade = #expect(throws: RequestError.self) {
            try RunPlan(parts, FunctionInputs([ids, features], file: "f"))
        }
        #expect(unmade?.description.contains("no function makes the decoder's states from \"input_features\"") == true)
    }

    @Test("a file with inputs of several functions leads to one of them, which leaves out those of others")
    func severalFunctions() throws {
        let model = try BlockModel(
            try ParityCase(folder: Fixtures.path("whisper_small")).model().programs, ["batch": 1, "frames": 26],
            blocks: [4, 1], cache: 14)
        let tensors = [("input_features", [1, 10, 26]), ("encoder_hidden_states", [1, 13, 18])].map { name, sizes in
            StoredTensor(
                name: name, floats: [Float](repeating: 0, count: Shape(sizes).count), shape: Shape(sizes))
        }
        let error = #expect(throws: RequestError.self) {
            try RunPlan(model.program, FunctionInputs(tensors, file: "f"))
        }
        #expect(
            error?.diagnostic.code == .functionNotChosen
                && error?.diagnostic.candidates.first?.hasPrefix("encoder") == true)
        for function in ["encoder", "cross_kv"] {
            let steps = try RunPlan(model.program, FunctionInputs(tensors, file: "f"), function: function).steps
            #expect(steps.map(\.inputs.count) == [1])
        }
        let unknown = tensors + [StoredTensor(name: "noise", floats: [0], shape: [1])]
        let other = #expect(throws: RequestError.self) {
            try RunPlan(model.program, FunctionInputs(unknown, file: "f"), function: "encoder")
        }
        #expect(other?.description.contains("has no input \"noise\"") == true, "\(String(describing: other))")
    }

    @Test("cross keys and values may be given in the encoder's place, and stay as they are while steps go by")
    func given() throws {
        let golden = try SafetensorsFile(Fixtures.path("whisper_small/golden.safetensors"))
        let model = try BlockModel(
            try ParityCase(folder: Fixtures.path("whisper_small")).model().programs, ["batch": 1, "frames": 26],
            blocks: [9, 1], cache: 14)
        let cross = golden.tensors.filter { $0.name.hasPrefix("out.cross_") }.map {
            $0.renamed(String($0.name.dropFirst(4)))
        }
        let ids = try #require(golden["in.decoder_input_ids"]).renamed("decoder_input_ids")
        let logits = try model.logits([ids] + cross, blocks: [9, 1, 1, 1])
        let expected = HostTensor(try #require(golden["out.logits_full"]))
        #expect(largestDifference(logits, expected) <= 2e-5)
    }
}
