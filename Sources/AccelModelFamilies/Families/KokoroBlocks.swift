import AccelByteIO
import AccelPrograms
import AccelTensors

/// A chain of residual blocks from Kokoro's decoder by themselves, for tests of their norms.
///
/// Inputs: `x` F32[batch, channels, time], `ref_s` F32[batch, style]. Outputs: `y.0`, `y.1`, ... after each block.
struct KokoroBlocks: ModelFamily {
    static let modelTypes = ["kokoro_adain_blocks"]
    static let architectures = ["AdainResBlk1d"]
    static let inertFields: [InertFields] = []
    let parts = ["blocks"]

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let field = checkpoint.configuration["dims"]
        let blocks = try field.array().map { try $0.array().map { try $0.int(in: 0...1 << 16) } }
        guard let first = blocks.first, blocks.allSatisfy({ $0.count == 3 && $0[0] > 0 && $0[1] > 0 }),
            zip(blocks, blocks.dropFirst()).allSatisfy({ $0[1] == $1[0] })
        else { throw field.error("expected a chain of [inputs, outputs, upsamples]") }
        let config = try KokoroConfiguration(checkpoint.configuration)
        return try parts.map { part in
            let dimensions = [Program.FreeDimension("batch", usual: [1]), .init("time", usual: [10])]
            var graph = KokoroGraph(
                config: config,
                layers: LayerBuilder(
                    builder: ProgramBuilder(name: part, dimensions: dimensions, role: .block), names: names))
            var x = graph.layers.builder.input(
                "x", TensorType(.float32, ["batch", .fixed(first[0]), "time"]), .features)
            let style = graph.layers.builder.input(
                "ref_s", TensorType(.float32, ["batch", .fixed(config.style)]), .style)
            for (index, block) in blocks.enumerated() {
                x = try graph.styledBlock(
                    "blocks.\(index)", x, style, from: block[0], to: block[1], upsamples: block[2] != 0)
                graph.layers.builder.output("y.\(index)", x, .features)
            }
            names = graph.layers.names
            return try graph.layers.builder.finish()
        }
    }
}
