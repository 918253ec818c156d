import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@Suite("Parakeet against the original framework")
struct ParakeetTests {
    static let cases = ["parakeet_ctc", "parakeet_encoder"].map { ParityCase(folder: Fixtures.path($0)) }

    @Test("every golden output is within 4 times the framework's own noise", arguments: cases)
    func parity(subject: ParityCase) throws {
        try subject.expectParity(of: try subject.model())
    }

    @Test("and so it is by accelc's own runtime", arguments: cases)
    func runtime(subject: ParityCase) throws {
        try subject.expectParity(of: try subject.model(), by: .executor)
    }

    @Test("every tensor is used or listed as unused with a reason", arguments: cases)
    func accounting(subject: ParityCase) throws {
        let model = try subject.model()
        try subject.expectAccount(of: model)
        #expect(model.unused.allSatisfy { $0.reason == "counts steps of training" })
    }

    @Test("frames after those of a sound change nothing of its states")
    func padding() throws {
        let subject = ParityCase(folder: Fixtures.path("parakeet_ctc"))
        let (golden, program) = (try subject.golden(), try subject.model().programs[0])
        let features = HostTensor(try #require(golden["in.input_features"]))
        let (frames, bands) = (features.shape.dimensions[1], features.shape.dimensions[2])
        let count = 50
        func logits(frames: Int) throws -> [Float] {
            var rows = Array(features.floats[..<(count * bands)])
            rows += [Float](repeating: 0, count: (frames - count) * bands)
            let mask = (0..<frames).map { Int64($0 < count ? 1 : 0) }
            let frozen = try program.freezing(ShapeBindings(["batch": 1, "frames": frames]))
            let outputs = try frozen.evaluate([
                "input_features": HostTensor(rows, [1, frames, bands]),
                "attention_mask": HostTensor(mask, [1, frames]),
            ])
            let width = outputs[0].tensor.shape.dimensions[2]
            return Array(outputs[0].tensor.floats[..<((count + 7) / 8 * width)])
        }
        let alone = try logits(frames: count)
        for longer in [count + 1, frames, 160] {
            let padded = try logits(frames: longer)
            let distance = zip(alone, padded).reduce(0) { max($0, abs($1.0 - $1.1)) }
            #expect(alone.count == padded.count && distance < 1e-4, "\(longer) frames")
        }
    }

    @Test("sounds of any number of frames have states, down to a single one", arguments: [1, 2, 7, 8, 9, 16, 17])
    func lengths(frames: Int) throws {
        let program = try ParityCase(folder: Fixtures.path("parakeet_ctc")).model().programs[0]
        let frozen = try program.freezing(ShapeBindings(["batch": 2, "frames": frames])).optimized()
        let outputs = try frozen.evaluate(SeededInputs(seed: 3).inputs(for: frozen))
        #expect(outputs[0].tensor.shape.dimensions == [2, (frames + 7) / 8, 32])
        #expect(outputs[0].tensor.floats.allSatisfy { $0.isFinite })
    }

    @Test("roles of ports, and the longest sound")
    func interface() throws {
        let program = try ParityCase(folder: Fixtures.path("parakeet_encoder")).model().programs[0]
        #expect(program.interface.role == .encode)
        let parameters = Role.MelParameters(bands: 12, rate: 16_000, window: 400, hop: 160)
        #expect(program.interface.inputs["input_features"] == .melFeatures(parameters, bandAxis: 2))
        #expect(program.interface.inputs["attention_mask"] == .attentionMask(.onesCount))
        #expect(program.interface.outputs == ["last_hidden_state": .hiddenStates])
        #expect(program.dimensions.first { $0.name == "frames" }?.maximum == 160)
    }

    /// A change of the program that parity has to notice.
    enum Mutation: CaseIterable {
        case otherActivation, otherGate, droppedBias, noMask, otherEpsilon, wholeFeedForward, laterConvolution,
            otherScale, swappedSineAndCosine, shiftedPositions

        func apply(_ node: Program.Node, _ inputs: [Value], _ builder: inout ProgramBuilder) throws -> [Value]? {
            switch (self, node.operation) {
            case (.otherActivation, is Silu): return [try builder.apply(Gelu(.erf), inputs)]
            case (.otherGate, is Sigmoid): return [try builder.apply(Tanh(), inputs)]
            case (.droppedBias, is Conv) where node.label.contains("depthwise_conv"):
                return [try builder.apply(node.operation, Array(inputs[..<2]))]
            case (.noMask, is Select): return [try builder.apply(node.operation, [inputs[0], inputs[1], inputs[1]])]
            case (.otherEpsilon, is LayerNorm): return [try builder.apply(LayerNorm(epsilon: 1e-2), inputs)]
            case (.wholeFeedForward, is Multiply) where node.label.contains("feed_forward1"): return [inputs[0]]
            case (.laterConvolution, var conv as Conv) where node.label.contains("depthwise_conv"):
                (conv.window.before, conv.window.after) = ([conv.window.before[0] - 1], [conv.window.after[0] + 1])
                return [try builder.apply(conv, inputs)]
            case (.otherScale, let attention as Attention):
                return [try builder.apply(Attention(scale: attention.scale * 1.01), inputs)]
            case (.swappedSineAndCosine, is Sin): return [try builder.apply(Cos(), inputs)]
            case (.shiftedPositions, var slice as Slice) where node.label.contains("encode_positions"):
                slice.begin[0] = slice.begin[0] - 1
                return [try builder.apply(slice, inputs)]
            default: return nil
            }
        }
    }

    @Test("a mutated program fails", arguments: Mutation.allCases)
    func mutationsAreCaught(mutation: Mutation) throws {
        let subject = ParityCase(folder: Fixtures.path("parakeet_ctc"))
        let deviations = try subject.deviations(of: try subject.model()) { try $0.rewriting(mutation.apply) }
        #expect(deviations.contains { $0.inNoise > 40 })
    }

    @Test(
        "a configuration that fits no model is rejected with its field",
        arguments: [
            ("encoder_config.subsampling_conv_stride", 3), ("encoder_config.subsampling_factor", 6),
            ("encoder_config.conv_kernel_size", 8), ("encoder_config.subsampling_conv_kernel_size", 4),
            ("encoder_config.num_mel_bins", 20), ("encoder_config.num_attention_heads", 5),
            ("encoder_config.num_key_value_heads", 2), ("encoder_config.hidden_act", "gelu_10"),
            ("encoder_config.head_dim", 4),
        ] as [(String, JSON)])
    func rejections(field: String, value: JSON) throws {
        let model = try LawModel("parakeet_ctc")
        let name = String(field.dropFirst("encoder_config.".count))
        let root = model.root.inserting(JSON.Member(name, value), into: "encoder_config")
        let changed = field == "encoder_config.head_dim" ? root : model.root.replacing(field, with: value)
        #expect(model.rejection(changed)?.contains("field \(field)") == true, "\(model.rejection(changed) ?? "none")")
    }

    @Test("a variance below 0 is rejected by the name of its tensor")
    func variance() throws {
        var checkpoint = try ChangedCheckpoint("parakeet_ctc")
        let name = "encoder.layers.1.conv.norm.running_var"
        checkpoint.tensors = checkpoint.tensors.map { tensor in
            guard tensor.name == name else { return tensor }
            return StoredTensor(name: name, floats: [Float](repeating: -1, count: 24), shape: tensor.shape)
        }
        #expect(checkpoint.rejection()?.contains(name) == true)
    }
}
