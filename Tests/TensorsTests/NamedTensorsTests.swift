import TestSupport
import Testing

@testable import AccelTensors

@Suite("Tensors of a file by their names")
struct NamedTensorsTests {
    private func named(_ names: String...) -> NamedTensors {
        NamedTensors(names.map { StoredTensor(name: $0, floats: [1, 2], shape: [1, 2]) }, file: "f")
    }

    @Test("a golden file has its inputs under in., its outputs under out. and ref64.")
    func golden() {
        let file = named("in.x", "other", "out.y", "ref64.y", "labels")
        #expect(file.isGolden)
        #expect(file.inputs.keys.sorted() == ["x"])
        #expect(file.inputs["x"]?.name == "x")
        #expect(file.outputs.keys.sorted() == ["y"])
        #expect(file.exactOutputs.keys.sorted() == ["y"])
        // Labels are integers.
        #expect(file.labels == nil)
        #expect(!file.isDecoding)
    }

    @Test("without in., every tensor but outputs is an input")
    func plain() {
        let file = named("x", "cache", "out.y", "ref64.y")
        #expect(!file.isGolden)
        #expect(file.inputs.keys.sorted() == ["cache", "x"])
    }

    @Test("a decoder's outputs tell the length of the prefill, and whether there are decode steps")
    func decoding() {
        let prefill = named("in.x", "out.prefill_logits", "out.step0_logits", "out.kv_final.key")
        #expect(prefill.isDecoding && prefill.hasDecodeSteps)
        #expect(prefill.prefillLength == 2)
        #expect(prefill.finalState("key") != nil)
        #expect(prefill.finalState("value") == nil)
        let whole = named("in.x", "out.logits_full")
        #expect(whole.isDecoding && !whole.hasDecodeSteps)
        #expect(whole.prefillLength == nil)
    }

    @Test("numbered samples: the first one stands for the input")
    func samples() {
        let file = named("in.frame.0", "in.frame.1", "in.codes.01")
        #expect(file.input("frame")?.name == "frame.0")
        #expect(file.input("codes") == nil)
        #expect("frame.0".sampleNumber == 0)
        #expect("codes.01".sampleNumber == nil)
        #expect("frame".sampleNumber == nil)
    }
}
