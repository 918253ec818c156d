import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@Suite("Logits of the last position only")
struct LastLogitsTests {
    /// Every decoder with a golden, with the parts that its logits need.
    static let cases = DecoderCase.all.map(\.files) + ParityCase.all(["gpt2_", "whisper_"])

    @Test("are the last row of all logits, bit for bit, and leave the caches as they are", arguments: cases)
    func lastRow(subject: ParityCase) throws {
        for program in try subject.model().programs where program.interface.role == .decode {
            let last = try #require(try program.computingLastLogits(), "\(program.name)")
            #expect(last.interface.outputs["logits"] == .logits(over: .vocabulary, positions: .last))
            #expect(last.nodes.count == program.nodes.count + 1)
            for tokens in [1, 5] {
                let sizes = ["batch": 2, "tokens": tokens, "cache": 9, "frames": 8]
                let known = Set(program.dimensions.map(\.name))
                let bindings = ShapeBindings(sizes.filter { known.contains($0.key) })
                let (all, one) = (try program.freezing(bindings), try last.freezing(bindings))
                let feed = Self.inputs(of: all, position: 3)
                var (states, others): ([String: HostTensor], [String: HostTensor]) = ([:], [:])
                let expected = try #require(try all.evaluate(feed, states: &states).first { $0.name == "logits" })
                    .tensor
                let found = try #require(try one.evaluate(feed, states: &others).first { $0.name == "logits" }).tensor
                let width = try #require(expected.shape.dimensions.last)
                #expect(found.shape == [2, 1, width])
                for row in 0..<2 {
                    let start = ((row + 1) * tokens - 1) * width
                    #expect(
                        Array(found.floats[row * width..<(row + 1) * width]).map(\.bitPattern)
                            == expected.floats[start..<start + width].map(\.bitPattern))
                }
                #expect(states.mapValues(\.floats) == others.mapValues(\.floats))
                #expect(all.program.multiplyAdds - one.program.multiplyAdds >= 2 * (tokens - 1) * width)
            }
        }
    }

    private static func inputs(of function: FrozenProgram, position: Int64) -> [String: HostTensor] {
        var generator = SeededGenerator(seed: 3)
        return function.inputs.reduce(into: [:]) { inputs, port in
            let role = function.program.interface.role(of: port.name, .input)
            let limit = Int64(role.integer("vocabulary") ?? 1)
            inputs[port.name] =
                role.kind == .position
                ? HostTensor([position], [1])
                : HostTensor((0..<port.shape.count).map { _ in .random(in: 0..<limit, using: &generator) }, port.shape)
        }
    }

    @Test(
        "are nothing that a model without a head, an encoder, or a decoder of only the last position has",
        arguments: ["bert_mlm", "bert_base", "clip_end"])
    func without(fixture: String) throws {
        for program in try ParityCase(folder: Fixtures.path(fixture)).model().programs {
            #expect(try program.computingLastLogits() == nil)
        }
        let qwen = try #require(try ParityCase(folder: Fixtures.path("qwen3_small")).model().programs.first)
        let last = try #require(try qwen.computingLastLogits())
        #expect(try last.computingLastLogits() == nil)
    }

    @Test("have a role that fits one row only")
    func role() throws {
        let qwen = try #require(try ParityCase(folder: Fixtures.path("qwen3_small")).model().programs.first)
        var interface = qwen.interface
        interface.outputs["logits"] = .logits(over: .vocabulary, positions: .last)
        #expect(throws: ShapeError.self) { try qwen.declaring(interface) }
        #expect(Role.logits(over: .vocabulary, positions: .last).positionAxis == nil)
        #expect(Role.logits(over: .vocabulary).positionAxis == 1)
    }
}
