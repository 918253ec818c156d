import AccelTensors

/// The division of rows into blocks that share a scale. The last block of a row may be smaller.
struct Blocks: Sendable {
    /// Weights per block; nil for the whole row.
    let size: Int?

    static func option(default value: String, sizes: [String] = ["16", "32", "64", "128", "channel"]) -> CodecOption {
        CodecOption(
            "block", allowed: sizes, default: value, help: "weights of a row that share a scale; channel: the whole row"
        )
    }

    func size(_ shape: Shape) -> Int { max(min(size ?? shape.columns, shape.columns), 1) }
    func perRow(_ shape: Shape) -> Int { (shape.columns + size(shape) - 1) / size(shape) }

    /// Returns the columns of a block.
    func columns(of block: Int, _ shape: Shape) -> Range<Int> {
        block * size(shape)..<min((block + 1) * size(shape), shape.columns)
    }
}
