import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@Suite("SNAC against the original framework")
struct SNACTests {
    static let cases = ParityCase.all(["snac"])
    static let parts = ["decoder", "decoder_zero_noise"]

    @Test("every golden output is within 4 times the framework's own noise", arguments: cases)
    func parity(subject: ParityCase) throws {
        try subject.expectParity(of: try subject.model(parts: Self.parts))
    }

    @Test("the older spelling of normed weights means the same", arguments: cases)
    func spelling(subject: ParityCase) throws {
        let file = "model.legacy_names.safetensors"
        guard let old = try? subject.model(parts: Self.parts, file: file) else { return }
        try subject.expectParity(of: old)
        try subject.expectAccount(of: old, file: file)
    }

    @Test("every tensor is used or listed as unused with a reason", arguments: cases)
    func accounting(subject: ParityCase) throws {
        let model = try subject.model()
        try subject.expectAccount(of: model)
        #expect(model.unused.allSatisfy { $0.reason == "the encoder's, which decoding does not read" })
        let quiet = try subject.model(parts: ["decoder_zero_noise"])
        try subject.expectAccount(of: quiet)
        #expect(quiet.used.isSubset(of: model.used))
    }

    @Test("a length that is no whole number of attention windows is rejected")
    func windows() throws {
        let program = try #require(
            try ParityCase(folder: Fixtures.path("snac_windows")).model().programs.first)
        _ = try program.freezing(ShapeBindings(["batch": 1, "frames": 2]))
        #expect(throws: ShapeError.self) { try program.freezing(ShapeBindings(["batch": 1, "frames": 3])) }
    }

    /// Inputs of `frames` coarse frames, the same every time.
    private func inputs(of program: Program, frames: Int, codes: Int) throws -> [String: HostTensor] {
        var state: UInt32 = 7
        func next() -> Int {
            state = state &* 1_664_525 &+ 1_013_904_223
            return Int(state >> 16)
        }
        let bindings = ["batch": 1, "frames": frames]
        return Dictionary(
            uniqueKeysWithValues: program.inputs.map { input in
                let type = program.type(of: input.value)
                let shape = Shape(type.dimensions.compactMap { $0.binding(bindings).value })
                return (
                    input.name,
                    type.elementType == .int64
                        ? HostTensor((0..<shape.count).map { _ in Int64(next() % codes) }, shape)
                        : HostTensor((0..<shape.count).map { _ in Float(next()) / 32768 - 1 }, shape)
                )
            })
    }

    /// Coarse frames `range` of inputs that hold `frames`.
    private func piece(
        _ inputs: [String: HostTensor], _ range: Range<Int>, of frames: Int
    ) throws -> [String: HostTensor] {
        try inputs.mapValues { tensor in
            let last = tensor.shape.rank - 1
            let perFrame = tensor.shape.dimensions[last] / frames
            var (begin, sizes) = (tensor.shape.dimensions.map { _ in 0 }, tensor.shape.dimensions)
            (begin[last], sizes[last]) = (range.lowerBound * perFrame, range.count * perFrame)
            let slice = Slice(begin: begin.map { Dimension($0) }, sizes: sizes.map { Dimension($0) })
            return try slice.evaluate([tensor])[0]
        }
    }

    private func audio(_ program: Program, _ inputs: [String: HostTensor], frames: Int) throws -> [Float] {
        let frozen = try program.freezing(ShapeBindings(["batch": 1, "frames": frames]))
        return try #require(try frozen.evaluate(inputs).first { $0.name == "audio" }).tensor.floats
    }

    @Test("pieces decoded with three coarse frames on each side join to the whole, exactly")
    func chunks() throws {
        let (whole, joined) = try decoded("snac_chunks", frames: 9, step: 5, halo: 3)
        #expect(whole.count == 2048 * 9)
        #expect(joined == whole)
    }

    @Test("with attention they need the windows that convolutions reach and one more: fewer are not enough")
    func chunksOfWindows() throws {
        // A window is two coarse frames of four latents. With this one rate of 2, convolutions reach 20 latents: three
        // windows. With the published rates they reach 9 of a window's 32.
        let (whole, joined) = try decoded("snac_windows", frames: 22, step: 4, halo: 8)
        #expect(joined == whole)
        #expect(try decoded("snac_windows", frames: 22, step: 4, halo: 6).joined != whole)
    }

    /// The audio of all frames at once, and of pieces of `step` frames with `halo` more on each side.
    private func decoded(
        _ fixture: String, frames: Int, step: Int, halo: Int
    ) throws -> (whole: [Float], joined: [Float]) {
        let program = try #require(try ParityCase(folder: Fixtures.path(fixture)).model().programs.first)
        let inputs = try inputs(of: program, frames: frames, codes: 19)
        let whole = try audio(program, inputs, frames: frames)
        let samples = whole.count / frames
        var joined: [Float] = []
        for start in stride(from: 0, to: frames, by: step) {
            let kept = start..<min(start + step, frames)
            let range = max(0, start - halo)..<min(frames, kept.upperBound + halo)
            let found = try audio(program, try piece(inputs, range, of: frames), frames: range.count)
            let first = (start - range.lowerBound) * samples
            joined += found[first..<first + kept.count * samples]
        }
        return (whole, joined)
    }

    /// A change of the program that parity has to notice.
    enum Mutation: CaseIterable {
        case noNoise, otherSnake, droppedBias, otherDilation, shiftedSamples, swappedQueryAndKey, noRotation, otherScale

        var fixture: String {
            switch self {
            case .swappedQueryAndKey, .noRotation, .otherScale: "snac_windows"
            default: "snac_chunks"
            }
        }

        func apply(_ node: Program.Node, _ inputs: [Value], _ builder: inout ProgramBuilder) throws -> [Value]? {
            switch (self, node.operation) {
            case (.noNoise, is Multiply) where node.label.hasSuffix("block.2.multiply"):
                return [try builder.apply(Multiply(), [inputs[1], builder.literal(0)])]
            case (.otherSnake, is Snake):
                return [try builder.apply(Snake(epsilon: 1e-3), inputs)]
            case (.droppedBias, is Conv) where node.label.hasPrefix("quantizer.quantizers.1"):
                return [try builder.apply(node.operation, Array(inputs[..<2]))]
            case (.otherDilation, let conv as Conv) where conv.window.dilations == [9]:
                return [try builder.apply(Conv(Window(dilation: 3, padding: 9), groups: conv.groups), inputs)]
            case (.shiftedSamples, is ConvTranspose) where node.label.hasPrefix("decoder.model.2"):
                var shifted = node.operation as? ConvTranspose ?? ConvTranspose()
                (shifted.window.before, shifted.window.after) = (
                    shifted.window.before.map { $0 + 1 }, shifted.window.after.map { $0 - 1 }
                )
                return [try builder.apply(shifted, inputs)]
            case (.swappedQueryAndKey, is Attention):
                return [try builder.apply(node.operation, [inputs[1], inputs[0], inputs[2]])]
            case (.noRotation, is Rope):
                return [inputs[0]]
            case (.otherScale, is Attention):
                return [try builder.apply(Attention(scale: 1), inputs)]
            default: return nil
            }
        }
    }

    @Test("a mutated program fails", arguments: Mutation.allCases)
    func mutationsAreCaught(mutation: Mutation) throws {
        let subject = ParityCase(folder: Fixtures.path(mutation.fixture))
        let deviations = try subject.deviations(of: try subject.model()) { try $0.rewriting(mutation.apply) }
        #expect(deviations.contains { $0.inNoise > 40 })
    }
}
