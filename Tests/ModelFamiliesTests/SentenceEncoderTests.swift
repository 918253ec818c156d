import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@Suite("Sentence encoders, and decoders that classify texts, against transformers and sentence-transformers")
struct SentenceEncoderTests {
    static let cases = ParityCase.all(["sentence_", "reranker_", "twoway_"])

    @Test(
        "every golden output is within 4 times the framework's own noise", arguments: cases, ParityCase.Engine.allCases)
    func parity(subject: ParityCase, engine: ParityCase.Engine) throws {
        try subject.expectParity(of: try subject.model(), by: engine)
    }

    @Test("the tests carry the cases that they rely on")
    func fixturesAreThere() { #expect(Self.cases.count >= 8) }

    @Test("every tensor is used or listed as unused with a reason", arguments: cases)
    func accounting(subject: ParityCase) throws {
        let model = try subject.model()
        try subject.expectAccount(of: model)
        #expect(model.unused.map(\.name) == (subject.testDescription == "sentence_qwen2" ? ["lm_head.weight"] : []))
    }

    @Test("A decoder with modules.json takes whole texts and their mask, and has no cache")
    func interface() throws {
        let program = try #require(try ParityCase(folder: Fixtures.path("sentence_qwen3")).model().programs.first)
        #expect(program.interface.role == .encode)
        #expect(program.inputs.map(\.name) == ["input_ids", "attention_mask"])
        #expect(program.outputs.map(\.name) == ["sentence_embedding"])
        #expect(program.states.isEmpty)
    }

    @Test(
        "A decoder's tokens that attend to all after them, or to all before them where there is a window, are noticed",
        arguments: [
            ("sentence_qwen3", Compare.Relation.lessOrEqual), ("sentence_qwen2", .lessOrEqual),
            ("sentence_qwen2", .greater), ("sentence_gemma3", .greater), ("sentence_gemma3", .less),
            ("twoway_gemma3", .less),
        ])
    func attention(fixture: String, relation: Compare.Relation) throws {
        let subject = ParityCase(folder: Fixtures.path(fixture))
        let deviations = try subject.deviations(of: try subject.model()) { program in
            try program.rewriting { node, inputs, builder in
                guard let operation = node.operation as? Compare, operation.relation == relation else { return nil }
                return [try builder.apply(Compare(.equal), [inputs[0], inputs[0]])]
            }
        }
        #expect(deviations.contains { $0.inNoise > 40 })
    }

    @Test("Python code beside the weights is not read, and a remark tells of it")
    func code() throws {
        var checkpoint = try ChangedCheckpoint("sentence_qwen3")
        #expect(try checkpoint.model().remarks.isEmpty)
        checkpoint.set("auto_map", ["AutoModel": "modeling_qwen.Qwen2Model"])
        #expect(try checkpoint.model().remarks.contains { $0.hasPrefix("auto_map of config.json names Python code") })
    }

    @Test("A decoder whose tokens attend to later ones gives hidden states of whole texts, without a cache")
    func twoWay() throws {
        let program = try #require(try ParityCase(folder: Fixtures.path("twoway_gemma3")).model().programs.first)
        #expect(program.interface.role == .encode)
        #expect(program.outputs.map(\.name) == ["last_hidden_state"])
        #expect(program.states.isEmpty)
    }

    // MARK: - Dense layers

    /// The checkpoint of a fixture with one field of a dense layer changed.
    private func dense(_ name: String, _ value: String) throws -> ChangedCheckpoint {
        var checkpoint = try ChangedCheckpoint("sentence_bert_dense")
        checkpoint.tensors = checkpoint.tensors.filter { !$0.name.hasPrefix("2_Dense.") }
        let key = "\"\(name)\":"
        let config = try #require(checkpoint.files["2_Dense/config.json"])
        checkpoint.files["2_Dense/config.json"] = config.split(separator: "\n").map { line in
            line.contains(key) ? "\(key) \(value)\(line.hasSuffix(",") ? "," : "")" : String(line)
        }.joined(separator: "\n")
        return checkpoint
    }

    @Test("A dense layer's tensors are named after its folder")
    func denseNames() throws {
        let model = try ParityCase(folder: Fixtures.path("sentence_bert_dense")).model()
        #expect(model.used.isSuperset(of: ["2_Dense.linear.weight", "2_Dense.linear.bias"]))
    }

    @Test(
        "A dense layer that is not supported is rejected by name",
        arguments: [
            ("activation_function", "\"torch.nn.modules.activation.Softmax\"", "Softmax\" is not supported"),
            ("activation_function", "\"mine.Tanh\"", "mine.Tanh\" is not supported"),
            ("in_features", "12", "12 is not the width 24 of the vector before it"),
            ("module_input_name", "\"token_embeddings\"", "another input is not supported"),
            ("bias", "true", "2_Dense.linear.weight"),
        ])
    func unsupportedDense(name: String, value: String, reason: String) throws {
        #expect(try dense(name, value).rejection()?.contains(reason) == true)
    }

    @Test("The pickled weights of a dense layer are rejected with the way out")
    func pickledDense() throws {
        var checkpoint = try dense("bias", "true")
        checkpoint.files["2_Dense/pytorch_model.bin"] = "pickle"
        let rejection = try #require(checkpoint.rejection())
        #expect(rejection.contains("2_Dense/pytorch_model.bin is a Python pickle"))
    }

    // MARK: - Classifiers

    @Test(
        "A decoder that classifies texts gives the scores of its labels",
        arguments: [("reranker_qwen3", 1), ("reranker_llama", 3)])
    func classifier(fixture: String, labels: Int) throws {
        let program = try #require(try ParityCase(folder: Fixtures.path(fixture)).model().programs.first)
        #expect(program.interface.role == .classify)
        #expect(program.outputs.map(\.name) == ["logits"])
        #expect(program.interface.outputs["logits"] == .logits(over: .labels))
        let output = try #require(program.outputs.first)
        #expect(program.type(of: output.value).dimensions == ["batch", .fixed(labels)])
    }
}
